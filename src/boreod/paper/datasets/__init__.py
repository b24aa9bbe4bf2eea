"""Data sets: the twelve of the BORE paper, and three small ones that need no download.

``catalogue()`` lists them, and ``load(name)`` returns rows and labels. No rows come with this
package. ``load`` looks for them

1. in the folder ``data``, or else in the folder that BOREOD_DATA names: files such as
   ``cardio.npz`` and ``cardio_v02.npz``, each with ``X`` and ``y``;
2. in the cache, which is the folder that BOREOD_CACHE names, or else ``~/.cache/boreod``: original
   files, which are accepted only if their SHA-256 is right;
3. at the public source of the original file, or at the mirror whose address BOREOD_MIRROR holds.

Original files always give the same rows, bit for bit, and a checksum of the rows confirms this.
Files of your own are checked for their numbers of rows, columns and outliers. The paper does not
say which of the published samples (versions) it used.

The sets are those of Table 1 of Micenkova, McWilliams, Assent: Learning representations for outlier
detection on a budget. 2015.
"""

from boreod.paper.datasets.entries import DatasetInfo, Original, catalogue
from boreod.paper.datasets.loading import Dataset, DownloadError, load

__all__ = ["Dataset", "DatasetInfo", "DownloadError", "Original", "catalogue", "load"]
