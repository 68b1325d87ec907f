//! The prompts of `agents/` and of the project as skills, which a model may load by itself: the MCP extension
//! `io.modelcontextprotocol/skills` (SEP-2640).

use rmcp::model::{
    CacheScope, ErrorData, GetSkillResult, ListSkillsResult, Skill, SkillFrontmatter,
    SkillResource, SkillResources,
};

use super::{McpServer, shown};
use ait_setup::ProjectPrompt;
use ait_setup::prompts::{self, PROMPTS};

const SCHEME: &str = "skill://";
const FILE: &str = "/SKILL.md";

/// Returns the URI of a skill.
pub(super) fn uri(name: &str) -> String {
    format!("{SCHEME}{name}{FILE}")
}

/// Returns the name in the URI of a skill.
pub(super) fn named(uri: &str) -> Option<&str> {
    uri.strip_prefix(SCHEME)?.strip_suffix(FILE)
}

/// A prompt as a skill.
struct Offered {
    name: String,
    description: String,
    /// Its file.
    text: String,
}

/// Returns all skills: those of `agents/`, and those of the project, which also replace the former.
async fn offered(server: &McpServer) -> Vec<Offered> {
    let files = server.prompt_files.read().await.prompts;
    let ours = PROMPTS.iter().filter(|(name, _)| !files.iter().any(|file| file.name == *name));
    let ours = ours.map(|(name, prompt)| Offered {
        name: (*name).to_owned(),
        description: prompts::description(prompt).to_owned(),
        text: prompts::skill(name, prompt),
    });
    let others = files.iter().filter_map(|file| {
        let ProjectPrompt { name, description, .. } = file;
        Some(Offered { name: name.clone(), description: description.clone(), text: file.skill()? })
    });
    let names = server.tools.names();
    let all = ours.chain(others);
    all.map(|skill| Offered { text: names.in_text(&skill.text), ..skill }).collect()
}

/// Returns the file of a skill, if there is one of that name.
pub(super) async fn text(server: &McpServer, name: &str) -> Option<String> {
    let found = offered(server).await.into_iter().find(|skill| skill.name == name);
    found.map(|skill| skill.text)
}

/// Returns the front matter of each skill, and the size and the hash of its file.
async fn all(server: &McpServer) -> Vec<Skill> {
    let skill = |Offered { name, description, text }: Offered| {
        let uri = uri(&name);
        let file = SkillResource::from_bytes(&uri, text.as_bytes());
        let matter = SkillFrontmatter::new(name, description);
        Skill::new(uri, matter, SkillResources::Files(vec![file]))
    };
    offered(server).await.into_iter().map(skill).collect()
}

/// Answers `skills/list`.
pub(super) async fn list(server: &McpServer, is_modern: bool) -> ListSkillsResult {
    let skills = ListSkillsResult::with_all_items(all(server).await);
    if !is_modern {
        return skills;
    }
    skills.with_ttl_ms(server.prompt_ttl_ms()).with_cache_scope(CacheScope::Public)
}

/// Answers `skills/get`.
///
/// # Errors
///
/// No skill has the URI.
pub(super) async fn get(
    server: &McpServer,
    uri: &str,
    is_modern: bool,
) -> Result<GetSkillResult, ErrorData> {
    let Some(skill) = all(server).await.into_iter().find(|skill| skill.uri == uri) else {
        let reason = format!("no skill {:?}: skills/list has all of them", shown(uri));
        return Err(ErrorData::invalid_params(reason, None));
    };
    let skill = GetSkillResult::new(skill);
    if !is_modern {
        return Ok(skill);
    }
    Ok(skill.with_ttl_ms(server.prompt_ttl_ms()).with_cache_scope(CacheScope::Public))
}
