//! Texts as people write them: edited, edited again, and with our part removed.

use serde_json::{Value, json};

use super::marked::{MARKDOWN, NUMBER_SIGN};
use super::{EditError, ServerEntry, gitignore, is_blank, is_same_transport, json, toml};

const JSON: [&str; 2] = ["mcpServers", "issues"];
const TOML: [&str; 2] = ["mcp_servers", "issues"];

fn entry(value: Value) -> ServerEntry {
    value.as_object().unwrap().clone()
}

fn command() -> ServerEntry {
    entry(json!({ "type": "stdio", "command": "ait", "args": ["--file", "/p/x \"y\".json"] }))
}

/// Parses a text with another parser.
fn said(text: &str) -> Value {
    let mut text = text.trim_start_matches('\u{feff}').to_owned();
    json_strip_comments::strip(&mut text).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Texts in JSON as people write them.
const JSON_TEXTS: [&str; 14] = [
    "",
    "\n",
    "// nothing yet\n",
    "{}",
    "{}\n",
    "\u{feff}{\r\n  \"a\": 1\r\n}\r\n",
    "{\"a\":1}",
    "{ \"mcpServers\": {} }\n",
    "{\n\t\"mcpServers\": {\n\t\t\"b\": { \"command\": \"x\" }, // keep\n\t},\n}\n",
    "{\n    \"z\": [1, 2,], /* first */\n    \"mcpServers\": { \"b\": {} },\n    // last\n    \"a\": null\n}",
    "{\r\n  // why\r\n  \"mcpServers\": {\r\n    \"b\": {}\r\n  }\r\n}\r\n",
    "/* head */ {\"a\": {\"mcpServers\": 1}} // tail",
    "{\n  \"mcpServers\": {\n    // none\n  }\n}\n",
    "{\n\n  \"a\": 1,\n\n\n  \"b\": 2\n\n}\n\n",
];

#[test]
fn json_edits_preserve_all_other_content() {
    for text in JSON_TEXTS {
        let edited = json::set(text, &JSON, &command()).unwrap();
        assert_eq!(json::get(&edited, &JSON).unwrap(), Some(Value::Object(command())), "{text:?}");
        let mut expected =
            if is_blank(text) || !text.contains('{') { json!({}) } else { said(text) };
        expected["mcpServers"]["issues"] = Value::Object(command());
        assert_eq!(said(&edited), expected, "{text:?}");
        let mut at = 0;
        let mut lost = String::new();
        // Each line that had something on it is still there, in the same order, but for commas and braces.
        for line in text.lines().flat_map(|line| line.split(['{', '}', ','])) {
            match edited[at..].find(line.trim()) {
                Some(found) => at += found,
                None => lost.push_str(line),
            }
        }
        assert_eq!(lost, "", "{text:?} became {edited:?}");
        assert_eq!(edited.contains('\r'), text.contains('\r'), "{edited:?}");
        assert!(!edited.contains('\r') || !edited.replace("\r\n", "").contains('\n'), "{edited:?}");
        assert_eq!(json::set(&edited, &JSON, &command()).unwrap(), edited);
        assert_eq!(json::unset(text, &JSON).unwrap(), text);
        let back = json::unset(&edited, &JSON).unwrap();
        assert_eq!(json::get(&back, &JSON).unwrap(), None);
        assert_eq!(json::unset(&back, &JSON).unwrap(), back);
        for comment in ["// nothing yet", "// keep", "/* first */", "// last", "// why", "// none"]
        {
            assert_eq!(back.contains(comment), text.contains(comment), "{text:?} to {back:?}");
        }
    }
}

#[test]
fn removing_a_json_entry_restores_the_original_text() {
    for text in [
        "{\n  \"a\": 1\n}",
        "\u{feff}{\r\n  // why\r\n  \"mcpServers\": {\r\n    \"b\": {}\r\n  }\r\n}\r\n",
        "{\n\t\"mcpServers\": {\n\t\t\"b\": { \"command\": \"x\" }, // keep\n\t},\n}\n",
    ] {
        let edited = json::set(text, &JSON, &command()).unwrap();
        assert_eq!(json::unset(&edited, &JSON).unwrap(), text);
    }
}

#[test]
fn updating_a_json_entry_keeps_user_keys_and_comments() {
    let text = "{\n  \"mcpServers\": {\n    \"issues\": {\n      \"command\": \"/old/ait\",\n      \
                \"args\": [],\n      \"env\": { \"A\": \"b\" } // mine\n    }\n  }\n}\n";
    let url = entry(json!({ "type": "http", "url": "http://localhost:3000/mcp" }));
    let edited = json::set(text, &JSON, &url).unwrap();
    let expected =
        json!({ "env": { "A": "b" }, "type": "http", "url": "http://localhost:3000/mcp" });
    assert_eq!(said(&edited)["mcpServers"]["issues"], expected);
    assert!(edited.contains("// mine"), "{edited}");
    assert!(is_same_transport(&expected, &url) && !is_same_transport(&expected, &command()));
    assert!(!is_same_transport(
        &json!({ "command": "ait", "args": ["x"] }),
        &entry(json!({ "command": "ait" }))
    ));
    let later = json::set("{\"a\":1}", &JSON, &url).unwrap().replace("\"a\":1", "\"a\":2");
    assert_eq!(said(&json::unset(&later, &JSON).unwrap()), json!({ "a": 2 }));
}

#[test]
fn each_json_dialect_accepts_what_its_clients_accept() {
    use json::Dialect::{Comments, Strict, TrailingCommas};
    let refusal = |text, dialect| json::check(text, dialect).err().map(|error| error.to_string());
    for (text, dialects) in [
        ("", &[Strict, Comments, TrailingCommas][..]),
        ("\n", &[Strict, Comments, TrailingCommas]),
        ("{ \"a\": [1, -2.5e3, \"\\u00e9\", null] }\n", &[Strict, Comments, TrailingCommas]),
        ("{\n  // why\n}", &[Comments, TrailingCommas]),
        ("{ \"a\": 1 /* why */ }", &[Comments, TrailingCommas]),
        ("{ \"a\": [1,] }", &[TrailingCommas]),
        ("{ \"a\": 1, }", &[TrailingCommas]),
        ("{ \"a\": 1 \"b\": 2 }", &[]),
        ("{ \"a\": \"\\x41\" }", &[]),
        ("{ \"a\": 01 }", &[]),
        ("{ \"a\": [1 [2]] }", &[]),
        ("{ \"a\": [,] }", &[]),
        ("{} {}", &[]),
    ] {
        for dialect in [Strict, Comments, TrailingCommas] {
            let found = refusal(text, dialect);
            assert_eq!(found.is_none(), dialects.contains(&dialect), "{text}: {found:?}");
        }
    }
    let at = |text, dialect| refusal(text, dialect).unwrap();
    assert_eq!(at("{\n  // why\n}", Strict), "line 2, column 3: Comments are not allowed");
    let text = "{\n  \"a\": 1,\n}";
    assert_eq!(at(text, Comments), "line 2, column 9: Trailing commas are not allowed");
}

#[test]
fn the_last_of_two_json_members_counts() {
    let text = "{ \"mcpServers\": {}, \"mcpServers\": { \"issues\": 1, \"issues\": { \"command\": \"x\" } } }";
    assert_eq!(json::get(text, &JSON).unwrap(), Some(json!({ "command": "x" })));
    let edited = json::set(text, &JSON, &command()).unwrap();
    assert_eq!(json::get(&edited, &JSON).unwrap(), Some(Value::Object(command())));
    assert_eq!(said(&edited)["mcpServers"]["issues"], Value::Object(command()));
    let removed = json::unset(text, &JSON).unwrap();
    assert_eq!(said(&removed), json!({ "mcpServers": { "issues": 1 } }));
}

#[test]
fn invalid_json_is_reported_with_line_and_column() {
    for (text, line, column) in [
        ("{\n  \"a\": 1,\n  b: 2\n}", 3, 3),
        ("{\n  \"a\": 'x'\n}", 2, 8),
        ("{\"a\" 1}", 1, 6),
        ("{\n\"a\": 1\n\"b\": 2\n}", 2, 7),
        ("\u{feff}{ \"é\": , }", 1, 8),
    ] {
        let error = json::set(text, &JSON, &command()).unwrap_err();
        let EditError::Syntax { line: at, column: column_at, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!((*at, *column_at), (line, column), "{text:?}: {error}");
    }
    assert!(matches!(json::get("{ \"a\": 1", &JSON), Err(EditError::Syntax { .. })));
    for (text, expected) in [
        ("[]", "an object is expected, in braces"),
        ("1", "an object is expected, in braces"),
        ("{ \"mcpServers\": [] }", "\"mcpServers\" is expected to be an object, in braces"),
        ("{ \"mcpServers\": null }", "\"mcpServers\" is expected to be an object, in braces"),
    ] {
        assert_eq!(json::set(text, &JSON, &command()).unwrap_err().to_string(), expected);
    }
}

#[test]
fn toml_edits_preserve_all_other_content() {
    let command = entry(json!({ "command": "ait", "args": ["--file", "/p/x \"y\".json"] }));
    for text in [
        "",
        "\n",
        "# nothing yet\n",
        "model = \"x\" # fast\n# the end\n",
        "model = 'x'",
        "\u{feff}model = \"x\"\r\n\r\n# the end\r\n",
        "[mcp_servers.b]\ncommand = \"x\" # keep\n\n[profiles.c]\na = 1\n",
        "mcp_servers = { b = { command = \"x\" } }\n",
        "[mcp_servers]\n# none\n",
        "[b]\nc = [\n  1, # one\n]\n\n\n[[d]]\ne = 1979-05-27\n\n",
    ] {
        let edited = toml::set(text, &TOML, &command).unwrap();
        let read =
            |text: &str| text.trim_start_matches('\u{feff}').parse::<::toml::Table>().unwrap();
        let mut expected = read(text);
        let servers = expected.entry("mcp_servers").or_insert(::toml::Table::new().into());
        let value = ::toml::Value::try_from(&command).unwrap();
        servers.as_table_mut().unwrap().insert("issues".to_owned(), value);
        assert_eq!(read(&edited), expected, "{text:?} became {edited:?}");
        let mut at = 0;
        for line in text.lines().filter(|line| !line.contains('{')) {
            let found = edited[at..].find(line).unwrap_or_else(|| panic!("{line} in {edited:?}"));
            at += found;
        }
        assert_eq!(
            edited.matches("\r\n").count() == edited.matches('\n').count(),
            text.contains('\r')
        );
        assert_eq!(toml::set(&edited, &TOML, &command).unwrap(), edited);
        let back = toml::unset(&edited, &TOML).unwrap();
        assert_eq!(back.trim_end(), text.trim_end());
        assert_eq!(toml::unset(&back, &TOML).unwrap(), back);
        assert_eq!(read(&back), read(text), "{edited:?} became {back:?}");
        for comment in ["# nothing yet", "# the end", "# keep", "# none", "# one"] {
            assert_eq!(back.contains(comment), text.contains(comment), "{text:?} to {back:?}");
        }
    }
    let error = toml::set("a = 1\nb = [1,\n", &TOML, &command).unwrap_err();
    assert!(matches!(error, EditError::Syntax { line: 2 | 3, .. }), "{error}");
    let error = toml::set("mcp_servers = 1", &TOML, &command).unwrap_err();
    assert_eq!(error.to_string(), "\"mcp_servers\" is expected to be a table");
}

#[test]
fn updating_a_toml_entry_keeps_user_keys_and_comments() {
    let text = "[mcp_servers.issues]\ncommand = \"/old/ait\" # here\nstartup_timeout_sec = 20\n";
    let same = toml::set(text, &TOML, &entry(json!({ "command": "ait" }))).unwrap();
    assert_eq!(same, text.replace("/old/ait", "ait"));
    let url = entry(json!({ "url": "http://localhost:3000/mcp" }));
    let expected = json!({ "startup_timeout_sec": 20, "url": "http://localhost:3000/mcp" });
    assert_eq!(toml::get(&toml::set(text, &TOML, &url).unwrap(), &TOML).unwrap(), Some(expected));
}

#[test]
fn unset_settings_removes_only_generated_settings() {
    for text in ["", "# of the team\n", "agent = \"team\" # us\n", "agent = 'team'\r\n# end\r\n"] {
        let edited = toml::set_setting(text, "port", &json!(3005)).unwrap();
        assert_eq!(toml::get(&edited, &["port"]).unwrap(), Some(json!(3005)));
        assert_eq!(toml::unset_settings(text).unwrap(), text);
        assert_eq!(toml::set_setting(&edited, "port", &json!(3005)).unwrap(), edited);
        assert_eq!(toml::unset_settings(&edited).unwrap(), text, "{edited:?}");
    }
    let mine = "port = 3005\n";
    assert_eq!(toml::unset_settings(mine).unwrap(), mine);
    let over = toml::set_setting(mine, "port", &json!(3006)).unwrap();
    assert_eq!(over, "port = 3006  # by ait init\n");
}

#[test]
fn a_section_is_appended_and_removed_with_its_blank_line() {
    for text in [
        "",
        "\n",
        "# Team\n",
        "# Team",
        "# Team\n\n",
        "# Team\n\n\n",
        "\u{feff}",
        "\u{feff}# Team\r\n\r\nText\r\n",
        "# Team\r\n\r\nno end",
        "a <!-- ait init: begin --> b\n",
    ] {
        let edited = MARKDOWN.set(text, "one\n\ntwo\n").unwrap();
        assert!(edited.starts_with(text), "{edited:?}");
        assert_eq!(MARKDOWN.section(&edited).unwrap().as_deref(), Some("one\n\ntwo"), "{edited:?}");
        assert_eq!(MARKDOWN.set(&edited, "one\n\ntwo").unwrap(), edited);
        let ended = match text.trim_start_matches('\u{feff}') {
            "" => text.to_owned(),
            body if body.ends_with('\n') => text.to_owned(),
            _ if text.contains('\r') => format!("{text}\r\n"),
            _ => format!("{text}\n"),
        };
        assert_eq!(MARKDOWN.unset(&edited).unwrap(), ended, "{edited:?}");
        assert_eq!(MARKDOWN.unset(text).unwrap(), text);
        assert_eq!(
            edited.matches("\r\n").count() == edited.matches('\n').count(),
            text.contains('\r')
        );
        let other = MARKDOWN.set(&edited, "three").unwrap();
        assert_eq!(MARKDOWN.section(&other).unwrap().as_deref(), Some("three"));
        assert_eq!(MARKDOWN.unset(&other).unwrap(), ended);
        // What the user wrote behind it stays.
        let behind = format!("{edited}\nMore\n");
        assert!(MARKDOWN.unset(&behind).unwrap().ends_with("\nMore\n"));
    }
    for text in [
        "<!-- ait init: begin -->\n",
        "<!-- ait init: end -->\n<!-- ait init: begin -->\n",
        "<!-- ait init: begin -->\n<!-- ait init: begin -->\n<!-- ait init: end -->\n",
    ] {
        assert!(matches!(MARKDOWN.set(text, "x"), Err(EditError::Shape(_))), "{text:?}");
        assert!(matches!(MARKDOWN.unset(text), Err(EditError::Shape(_))), "{text:?}");
    }
}

#[test]
fn only_missing_gitignore_patterns_are_added() {
    let patterns = ["/issues.json".to_owned(), "/issues.json.*".to_owned()];
    for text in ["", "/target\n", "/target", "/target\r\nissues.json\r\n"] {
        let edited = gitignore::set(text, &patterns).unwrap();
        assert_eq!(gitignore::set(&edited, &patterns).unwrap(), edited);
        assert_eq!(NUMBER_SIGN.unset(&edited).unwrap().trim_end(), text.trim_end());
        let section = NUMBER_SIGN.section(&edited).unwrap().unwrap();
        let expected = if text.contains("issues.json") { &patterns[1..] } else { &patterns };
        assert_eq!(section.lines().collect::<Vec<_>>(), expected, "{text:?}");
    }
    let whole = "issues.json\n/issues.json.*\n";
    assert_eq!(gitignore::set(whole, &patterns).unwrap(), whole);
    let edited = gitignore::set("x\n", &patterns).unwrap();
    assert_eq!(gitignore::set(&edited, &[]).unwrap(), "x\n");
}

#[test]
fn items_are_appended_to_lists_and_removed_again() {
    let path = ["hooks", "Stop"];
    let item = serde_json::json!({ "a": 1 });
    let is_ours = |one: &serde_json::Value| *one == item;
    for text in [
        "",
        "{}\n",
        "{\n  \"b\": [ 1,2 ]\n}\n",
        "\u{feff}{\r\n  \"hooks\": {\r\n    \"Start\": []\r\n  }\r\n}\r\n",
        "{ \"hooks\": { \"Stop\": [ { \"a\": 2 } ] } }",
        "{ \"hooks\": { \"Stop\": [ /* mine */ { \"a\": 2 } ] } }",
    ] {
        let edited = json::append(text, &path, &item).unwrap();
        let list = json::get(&edited, &path).unwrap().unwrap();
        assert_eq!(list.as_array().unwrap().last(), Some(&item), "{edited}");
        let removed = json::remove_items(&edited, &path, &is_ours).unwrap();
        assert_eq!(removed.contains("mine"), text.contains("mine"), "{removed}");
        assert_eq!(json::get(&removed, &path).unwrap(), json::get(text, &path).unwrap(), "{text}");
        assert!(is_blank(&removed) == is_blank(text), "{removed}");
        assert_eq!(json::remove_items(text, &path, &is_ours).unwrap(), text);
    }
    for text in ["[]", "{ \"hooks\": 1 }", "{ \"hooks\": { \"Stop\": {} } }"] {
        assert!(matches!(json::append(text, &path, &item), Err(EditError::Shape(_))), "{text}");
        let removed = json::remove_items(text, &path, &is_ours);
        assert!(matches!(removed, Err(EditError::Shape(_))), "{text}");
    }
}
