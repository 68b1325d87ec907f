//! What a project wants the issues of a kind to say: a text with which their descriptions begin, and its sections.

use super::Classification;
use super::text::shortened;

/// How many sections of a template are asked for.
const MAX_SECTIONS: usize = 20;
/// How many characters of the name of a section are read.
const MAX_NAME: usize = 60;

/// The text with which the descriptions of a kind of work begin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Template {
    pub kind: Classification,
    /// Markdown. A heading of the second level, such as `## Steps`, begins a section that has to be filled.
    pub text: String,
}

impl Template {
    /// Returns the names of the sections that a description lacks, or in which it says no more than the template.
    pub fn missing(&self, description: &str) -> Vec<String> {
        let said = sections(description);
        let is_said = |(name, hint): &(String, String)| {
            let mut same =
                said.iter().filter(|(other, _)| other.to_lowercase() == name.to_lowercase());
            same.any(|(_, text)| !text.is_empty() && text != hint)
        };
        let wanted = sections(&self.text).into_iter().take(MAX_SECTIONS);
        wanted.filter(|section| !is_said(section)).map(|(name, _)| name).collect()
    }
}

/// Returns the sections of a text, each with its name and what it says. Comments of HTML say nothing, and headings in
/// blocks of code are none.
fn sections(text: &str) -> Vec<(String, String)> {
    let mut sections: Vec<(String, String)> = Vec::new();
    let mut is_code = false;
    for line in without_comments(text).lines() {
        is_code ^= line.trim_start().starts_with("```");
        match (line.strip_prefix("## ").filter(|_| !is_code), sections.last_mut()) {
            (Some(name), _) => {
                let name = shortened(name.trim_end_matches('#').trim(), MAX_NAME);
                sections.push((name, String::new()));
            }
            (None, Some((_, said))) => {
                said.push_str(line.trim_end());
                said.push('\n');
            }
            (None, None) => {}
        }
    }
    for (_, said) in &mut sections {
        *said = said.trim().to_owned();
    }
    sections
}

fn without_comments(text: &str) -> String {
    let mut parts = text.split("<!--");
    let before = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.split_once("-->").map_or("", |(_, after)| after));
    std::iter::once(before.as_str()).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_lacks_sections_that_say_no_more_than_the_template() {
        let text = "Thanks!\n\n## Steps\n\n<!-- What did you do? -->\n\n## Expected ##\n\n- [ ] it works\n\n\
                    ```\n## no section\n```\n## Seen\n";
        let template = Template { kind: Classification::Bug, text: text.to_owned() };
        for (description, missing) in [
            ("", &["Steps", "Expected", "Seen"][..]),
            (text, &["Steps", "Expected", "Seen"]),
            ("## Steps\n\n1. a\n\n## expected\nb\n\n## Other\nc\n\n##Seen\nd", &["Seen"]),
            ("## Steps\n### Seen\n\n## Expected\nb", &["Seen"]),
            ("## Steps\n<!-- a\n## Expected\nb -->\n## Seen\nc", &["Steps", "Expected"]),
            ("## Steps\na\n## Expected\nb\n## Seen\n<!-- open\nc", &["Seen"]),
            ("## Steps\na\r\n## Expected\r\nb\n## Seen #\nc", &[]),
        ] {
            assert_eq!(template.missing(description), missing, "{description:?}");
        }
        let plain = Template { text: "Say what you want.".to_owned(), ..template };
        assert_eq!(plain.missing(""), Vec::<String>::new());
    }
}
