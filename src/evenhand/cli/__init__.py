"""The commands, one module for each room of the work; each imports what it calls when it is called."""
