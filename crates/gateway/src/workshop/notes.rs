//! Notes.

use serde_json::{Value, json};

use super::{Bench, text};

/// Notes in the order in which they were made; a number is never used twice.
#[derive(Debug, Default)]
pub(super) struct Notes {
    made: i64,
    notes: Vec<Note>,
}

#[derive(Clone, Debug)]
struct Note {
    id: i64,
    title: String,
    body: String,
}

impl Note {
    fn line(&self) -> Value {
        json!({ "id": self.id, "title": self.title })
    }
}

impl Notes {
    fn find(&self, arguments: &Value) -> Result<usize, String> {
        let id = arguments["id"].as_i64();
        let at = self.notes.iter().position(|note| Some(note.id) == id);
        at.ok_or_else(|| {
            format!(
                "There is no note {}; list_notes shows them.",
                arguments["id"]
            )
        })
    }

    fn lines(&self, wanted: impl Fn(&Note) -> bool) -> Value {
        let lines = self
            .notes
            .iter()
            .filter(|note| wanted(note))
            .map(Note::line);
        json!({ "notes": lines.collect::<Vec<_>>() })
    }

    fn create(&mut self, arguments: &Value) -> Result<Value, String> {
        self.made += 1;
        let note = Note {
            id: self.made,
            title: text(arguments, "title")?.to_owned(),
            body: text(arguments, "body")?.to_owned(),
        };
        let line = note.line();
        self.notes.push(note);
        Ok(line)
    }
}

impl Bench for Notes {
    fn name(&self) -> &'static str {
        "notes"
    }

    fn tools(&self) -> Value {
        let id = json!({
            "type": "object",
            "properties": {"id": {"type": "integer", "description": "Number of the note"}},
            "required": ["id"],
        });
        json!([
            {
                "name": "create_note",
                "description": "Write a new note with a title and a body.",
                "inputSchema": {
                    "type": "object",
                    "properties": {
                        "title": {"type": "string", "description": "A few words"},
                        "body": {"type": "string", "description": "The note itself, Markdown"},
                    },
                    "required": ["title", "body"],
                },
            },
            {
                "name": "list_notes",
                "description": "List the titles of all notes.",
                "inputSchema": {"type": "object", "properties": {}},
                "annotations": {"readOnlyHint": true},
            },
            {
                "name": "read_note",
                "description": "Read one note in full.",
                "inputSchema": id,
                "annotations": {"readOnlyHint": true},
            },
            {
                "name": "search_notes",
                "description": "Find notes that contain a text.",
                "inputSchema": {
                    "type": "object",
                    "properties": {"query": {"type": "string", "description": "What to look for"}},
                    "required": ["query"],
                },
                "annotations": {"readOnlyHint": true},
            },
            {
                "name": "delete_note",
                "description": "Delete a note for good.",
                "inputSchema": id,
                "annotations": {"destructiveHint": true},
            },
        ])
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Option<Result<Value, String>> {
        Some(match tool {
            "create_note" => self.create(arguments),
            "list_notes" => Ok(self.lines(|_| true)),
            "read_note" => self.find(arguments).map(|at| {
                let note = &self.notes[at];
                json!({ "id": note.id, "title": note.title, "body": note.body })
            }),
            "search_notes" => text(arguments, "query").map(|query| {
                let query = query.to_lowercase();
                let holds = |text: &str| text.to_lowercase().contains(&query);
                self.lines(|note| holds(&note.title) || holds(&note.body))
            }),
            "delete_note" => self.find(arguments).map(|at| {
                let note = self.notes.remove(at);
                json!({ "deleted": note.id })
            }),
            _ => return None,
        })
    }
}
