"""Random files, tables and rows: nothing may crash, hang, leak a traceback or give NaN."""
