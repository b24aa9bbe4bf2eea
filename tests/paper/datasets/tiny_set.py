"""A made-up data set: the bytes of its file, and what reading them must give."""

import numpy as np

TINY = (
    b"% made up for tests\n@RELATION 'tiny'\n\n@ATTRIBUTE 'first one' real\n"
    b"@attribute second numeric\n@ATTRIBUTE 'id' real\n@ATTRIBUTE 'outlier' {'yes','no'}\n\n"
    b"@DATA\n"
    + b"".join(b"%d.5,1.0E-%d,%d.0,'no'\n" % (i, i % 9, i) for i in range(4000))
    + b"0.1,-0.0,4000.0,'yes'\n\n"
)
TINY_X = np.array([[i + 0.5, float(f"1e-{i % 9}")] for i in range(4000)] + [[0.1, -0.0]])
TINY_Y = np.array([0] * 4000 + [1], dtype=np.int8)
