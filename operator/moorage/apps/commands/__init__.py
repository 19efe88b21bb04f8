"""How words become calls: the options that commands share, files and ``-``, completion."""
