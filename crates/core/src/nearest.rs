//! The nearest names to one that was not found.
