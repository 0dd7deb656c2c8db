//! JSON Schema: compiling, checking, shrinking.
