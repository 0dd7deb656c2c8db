//! Finding the right tool for a plain wish.
