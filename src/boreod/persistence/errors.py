"""What can go wrong with a model file."""


class ModelFileError(ValueError):
    """A file is no usable model file, or a model cannot be put into one."""
