//! A calendar.

use serde_json::{Value, json};

use super::{Bench, text};

/// The hours in which a free one is looked for.
const OFFICE_HOURS: std::ops::Range<u32> = 9..17;

/// Events in the order in which they were made; a number is never used twice.
#[derive(Debug, Default)]
pub(super) struct Calendar {
    made: i64,
    events: Vec<Event>,
}

#[derive(Clone, Debug)]
struct Event {
    id: i64,
    title: String,
    start: String,
}

impl Event {
    fn shown(&self) -> Value {
        json!({ "id": self.id, "title": self.title, "start": self.start })
    }
}

impl Calendar {
    fn find(&mut self, arguments: &Value) -> Result<usize, String> {
        let id = arguments["id"].as_i64();
        let at = self.events.iter().position(|event| Some(event.id) == id);
        at.ok_or_else(|| {
            format!(
                "There is no event {}; list_events shows them.",
                arguments["id"]
            )
        })
    }

    fn create(&mut self, arguments: &Value) -> Result<Value, String> {
        self.made += 1;
        let event = Event {
            id: self.made,
            title: text(arguments, "title")?.to_owned(),
            start: text(arguments, "start")?.to_owned(),
        };
        let shown = event.shown();
        self.events.push(event);
        Ok(shown)
    }

    fn on(&self, day: &str) -> impl Iterator<Item = &Event> {
        let day = day.to_owned();
        self.events
            .iter()
            .filter(move |event| event.start.starts_with(&day))
    }

    fn free_hour(&self, day: &str) -> Value {
        let mut starts = OFFICE_HOURS.map(|hour| format!("{day}T{hour:02}:00"));
        let free = starts.find(|start| !self.on(day).any(|event| event.start == *start));
        json!({ "start": free })
    }
}

impl Bench for Calendar {
    fn name(&self) -> &'static str {
        "calendar"
    }

    fn tools(&self) -> Value {
        let start =
            json!({"type": "string", "description": "Local time, such as 2026-03-02T09:00"});
        let id = json!({"type": "integer", "description": "Number of the event"});
        let day = json!({
            "type": "object",
            "properties": {"day": {"type": "string", "format": "date", "description": "Such as 2026-03-02"}},
            "required": ["day"],
        });
        json!([
            {
                "name": "create_event",
                "description": "Put an appointment into the calendar.",
                "inputSchema": {
                    "type": "object",
                    "properties": {"title": {"type": "string"}, "start": start},
                    "required": ["title", "start"],
                },
            },
            {
                "name": "list_events",
                "description": "List the appointments of a day.",
                "inputSchema": day,
                "annotations": {"readOnlyHint": true},
            },
            {
                "name": "find_free_hour",
                "description": "Find the first free hour of a working day.",
                "inputSchema": day,
                "annotations": {"readOnlyHint": true},
            },
            {
                "name": "move_event",
                "description": "Move an appointment to another time.",
                "inputSchema": {
                    "type": "object",
                    "properties": {"id": id, "start": start},
                    "required": ["id", "start"],
                },
                "annotations": {"idempotentHint": true},
            },
            {
                "name": "cancel_event",
                "description": "Cancel an appointment for good.",
                "inputSchema": {
                    "type": "object",
                    "properties": {"id": id},
                    "required": ["id"],
                },
                "annotations": {"destructiveHint": true},
            },
        ])
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Option<Result<Value, String>> {
        Some(match tool {
            "create_event" => self.create(arguments),
            "list_events" => text(arguments, "day").map(|day| {
                let events: Vec<Value> = self.on(day).map(Event::shown).collect();
                json!({ "events": events })
            }),
            "find_free_hour" => text(arguments, "day").map(|day| self.free_hour(day)),
            "move_event" => self.find(arguments).and_then(|at| {
                text(arguments, "start")?.clone_into(&mut self.events[at].start);
                Ok(self.events[at].shown())
            }),
            "cancel_event" => self.find(arguments).map(|at| {
                let event = self.events.remove(at);
                json!({ "cancelled": event.id })
            }),
            _ => return None,
        })
    }
}
