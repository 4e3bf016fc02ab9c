"""The commands of the command line, a module each with `execute(options) -> exit code`."""
