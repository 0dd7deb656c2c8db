//! The gateway: engine, doors, command line and reload of the `toolcrib` binary.
