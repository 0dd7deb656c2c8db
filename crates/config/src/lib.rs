//! Text to configuration: readers, importers of client formats, validation, export.
