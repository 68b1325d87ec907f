//! Entities of knowledge graphs as entries of the memory, and the way back.
//!
//! An entity becomes a fact. Its text says the name, the type, the observations and the relations, and people may edit
//! it. What a text cannot say, such as the times of observations, is kept beside it, and counts while the text says the
//! same. An entry that came from no graph becomes an entity of its kind, whose observations say everything of it, so
//! that an import reads it back.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

use serde_json::value::to_raw_value;

use super::entries::FoundEntry;
use super::graph::{self, Entity, Observation, Relation};
use super::{Content, FileEntry, NamedLink, ReadOptions, defaults, value, words};
use ait_domain::external_id::GRAPH_KEY;
use ait_domain::text::shortened;
use ait_domain::{Classification, Issue, IssueId, Link, LinkKind, Timestamp, memory};

const RELATIONS: &str = "Relations:";
const RELATED: &str = "related";
/// The longest title, in characters.
const MAX_TITLE: usize = 200;
const ABOUT: &str = "About: ";

/// Reads a graph. Each entity becomes an entry.
pub(super) fn read(text: &str, options: &ReadOptions) -> Vec<FileEntry> {
    let mut graph = graph::read(text);
    let bad = std::mem::take(&mut graph.bad).into_iter().map(|bad| {
        let graph::BadLine { line, reason, is_skipped } = bad;
        let content = if is_skipped {
            Content::Skipped { id: None, title: None, reason }
        } else {
            Content::Refused { id: None, title: None, reason, blamed: None }
        };
        FileEntry { line, item: None, content }
    });
    let bad: Vec<_> = bad.collect();
    let entities: Vec<_> = graph.entities().collect();
    let ids = entities.iter().map(|(_, entity)| (entity.id.clone(), id_of(entity)));
    let ids: HashMap<String, IssueId> = ids.collect();
    let entries = entities.into_iter().map(|(line, entity)| {
        let content = content(entity, &ids, options);
        FileEntry { line, item: None, content }
    });
    let mut entries: Vec<_> = entries.chain(bad).collect();
    entries.sort_by_key(|entry| entry.line);
    entries
}

/// Writes the entries in force as a graph, for the server with a log of events if `is_log`.
pub(super) fn write(
    entries: &[Arc<Issue>],
    is_log: bool,
    out: &mut impl io::Write,
    written: &dyn Fn(),
) -> io::Result<()> {
    let mut names = HashSet::new();
    let mut entities: Vec<_> = entries.iter().map(|entry| entity_of(entry, &mut names)).collect();
    let ids: HashMap<IssueId, (String, String)> = entries
        .iter()
        .zip(&entities)
        .map(|(entry, entity)| (entry.id, (entity.id.clone(), entity.name.clone())))
        .collect();
    for (entry, entity) in entries.iter().zip(&mut entities) {
        // The relations of other entities are in their texts.
        let is_own = entry.unknown_keys.get(GRAPH_KEY).is_none();
        for other in entry.attributes.linked(LinkKind::Related).filter(|_| is_own) {
            if let Some((to, to_name)) = ids.get(&other).cloned() {
                let relation_type = RELATED.to_owned();
                entity.relate(Relation { relation_type, to, to_name, created_at: None });
            }
        }
    }
    graph::write(&entities, is_log, out, written)
}

fn id_of(entity: &Entity) -> IssueId {
    let own = entity.observations.iter().find_map(|one| Origin::of(&one.text));
    own.map_or_else(|| defaults::id("graph", &[&entity.id]), |own| own.id)
}

fn content(entity: Entity, ids: &HashMap<String, IssueId>, options: &ReadOptions) -> Content {
    let link = |relation: &Relation| NamedLink {
        kind: LinkKind::Related,
        shown: format!("{} {}", relation.relation_type, relation.to_name),
        name: relation.to.clone(),
        ids: ids.get(&relation.to).copied().into_iter().collect(),
    };
    if let Some(own) = own_entry(&entity) {
        let (mut entry, kind) = own;
        for relation in &entity.relations {
            if relation.relation_type == RELATED {
                entry.links.push(link(relation));
            } else {
                let shown = format!("{} {}", relation.relation_type, relation.to_name);
                entry.remarks.drop_link(shown, "entries of ait have no such links");
            }
        }
        return entry.content(kind, options);
    }
    let (title, description) = texts(&entity);
    let mut entry = FoundEntry::new(id_of(&entity), title, description);
    entry.created_at = entity.created_at.as_deref().and_then(Timestamp::parse);
    let mut linked = HashSet::from([entity.id.as_str()]);
    let links = entity.relations.iter().filter(|relation| linked.insert(&relation.to));
    entry.links = links.take(Link::MAX_COUNT).map(link).collect();
    if let Ok(kept) = to_raw_value(&entity) {
        entry.unknown_keys.insert(GRAPH_KEY.to_owned(), kept);
    }
    entry.content(Classification::Fact, options)
}

/// Returns title and description of the entry of an entity.
fn texts(entity: &Entity) -> (String, String) {
    let Entity { name, entity_type, observations, relations, .. } = entity;
    let name =
        if entity_type.is_empty() { name.clone() } else { format!("{name} ({entity_type})") };
    let title = shortened(&words::title_of(&name), MAX_TITLE);
    if observations.is_empty() && relations.is_empty() {
        return (title, String::new());
    }
    let item = |text: &str| format!("\n- {}", text.replace('\n', "\n  "));
    let mut text = format!("{title}\n");
    observations.iter().for_each(|one| text += &item(&one.text));
    if !relations.is_empty() {
        text += if observations.is_empty() { "" } else { "\n\n" };
        text += RELATIONS;
        let shown = |one: &Relation| item(&format!("{}: {}", one.relation_type, one.to_name));
        text.extend(relations.iter().map(shown));
    }
    (title, text)
}

/// Returns the entity of an entry.
fn entity_of(entry: &Issue, names: &mut HashSet<String>) -> Entity {
    let kept = entry.unknown_keys.get(GRAPH_KEY);
    let mut entity = match kept.and_then(|kept| serde_json::from_str::<Entity>(kept).ok()) {
        Some(entity) if texts(&entity) == (entry.title.clone(), entry.description.clone()) => {
            entity
        }
        Some(entity) => edited(entity, entry),
        None => of_own(entry),
    };
    if !names.insert(entity.name.clone()) && kept.is_none() {
        entity.name = format!("{} {}", entity.name, entry.id.short());
        names.insert(entity.name.clone());
        entity.id = graph::entity_id(&entity.name, &entity.entity_type);
    }
    entity.created_at.get_or_insert_with(|| entry.created_at.to_string());
    entity.updated_at.get_or_insert_with(|| entry.modified_at.to_string());
    entity
}

/// Returns an entity as people have edited its text. What is known of observations and relations stays.
fn edited(mut entity: Entity, entry: &Issue) -> Entity {
    if texts(&entity).0 != entry.title {
        let (name, kind) = entry.title.rsplit_once(" (").unwrap_or((&entry.title, ""));
        name.clone_into(&mut entity.name);
        kind.trim_end_matches(')').clone_into(&mut entity.entity_type);
    }
    let mut items: [Vec<String>; 2] = Default::default();
    let mut list = 0;
    for line in memory::text(entry).lines() {
        if line == RELATIONS {
            list = 1;
        } else if let Some(text) = line.strip_prefix("- ") {
            items[list].push(text.to_owned());
        } else if let Some((text, item)) = line.strip_prefix("  ").zip(items[list].last_mut()) {
            item.push('\n');
            item.push_str(text);
        }
    }
    let [observations, relations] = items;
    let known = std::mem::take(&mut entity.observations);
    entity.observations = observations
        .into_iter()
        .map(|text| {
            let same = known.iter().find(|one| one.text == text).cloned();
            same.unwrap_or(Observation { text, ..Observation::default() })
        })
        .collect();
    entity.relations.retain(|one| {
        relations.contains(&format!("{}: {}", one.relation_type, one.to_name).replace('\n', "\n  "))
    });
    entity
}

/// What an observation says of the entry of ait that its entity is: `kept by dev-1 on 2026-01-02T… as 3f2a9c1e-…`.
struct Origin {
    id: IssueId,
    agent: String,
    at: Timestamp,
}

impl Origin {
    fn of(text: &str) -> Option<Self> {
        let (rest, id) = text.strip_prefix("kept by ")?.rsplit_once(" as ")?;
        let (agent, at) = rest.rsplit_once(" on ")?;
        let (id, at) = value::our_id(id).zip(Timestamp::parse(at))?;
        Some(Self { id, agent: agent.to_owned(), at })
    }
}

/// Returns an entry that came from no graph as an entity.
fn of_own(entry: &Issue) -> Entity {
    let attributes = &entry.attributes;
    let agent = entry.history.first().map_or(defaults::AGENT, |first| &first.agent);
    let origin = format!("kept by {agent} on {} as {}", entry.created_at, entry.id);
    let labels = attributes.labels.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let rest = [
        (!labels.is_empty()).then(|| format!("labels: {labels}")),
        attributes.due.map(|due| format!("until: {due}")),
        Some(origin),
    ];
    let name = shortened(&entry.title, 100);
    let kind = entry.classification.as_str().to_owned();
    let entity = |texts: &[String]| Entity {
        id: graph::entity_id(&name, &kind),
        name: name.clone(),
        entity_type: kind.clone(),
        observations: texts
            .iter()
            .chain(rest.iter().flatten())
            .map(|text| Observation { text: text.clone(), ..Observation::default() })
            .collect(),
        ..Entity::default()
    };
    let last = entry.description.lines().last().filter(|line| line.starts_with(ABOUT));
    let mut texts = vec![memory::text(entry).to_owned()];
    texts.extend(last.map(str::to_owned));
    let whole = entity(&texts);
    let is_same = own_entry(&whole).is_some_and(|(read, _)| {
        (&read.title, &read.description) == (&entry.title, &entry.description)
    });
    if is_same {
        return whole;
    }
    entity(&[entry.description.clone(), format!("title: {}", entry.title)])
}

/// Returns the entry of an entity that [`of_own`] made, with its kind.
fn own_entry(entity: &Entity) -> Option<(FoundEntry, Classification)> {
    let kind = Classification::from_word(&entity.entity_type).filter(|kind| kind.is_entry())?;
    let mut texts = entity.observations.iter().map(|one| one.text.as_str());
    let origin = texts.clone().find_map(Origin::of)?;
    let text = texts.next()?;
    let mut entry = FoundEntry::new(origin.id, String::new(), String::new());
    entry.created_at = Some(origin.at);
    entry.agent = Some(origin.agent);
    let mut parts = Vec::new();
    for other in texts {
        if let Some(title) = other.strip_prefix("title: ") {
            title.clone_into(&mut entry.title);
        } else if let Some(labels) = other.strip_prefix("labels: ") {
            entry.attributes.labels =
                labels.split(", ").filter_map(|label| label.parse().ok()).collect();
        } else if let Some(until) = other.strip_prefix("until: ") {
            entry.attributes.due = until.parse().ok();
        } else if other.starts_with(ABOUT) {
            parts.push(other.to_owned());
        } else if Origin::of(other).is_none() {
            // Another program observed it.
            parts.insert(0, format!("- {other}"));
        }
    }
    if entry.title.is_empty() {
        let (title, description) = memory::texts(text, &[]).ok()?;
        entry.title = title.into_string();
        parts.splice(0..0, Some(description.into_string()).filter(|text| !text.is_empty()));
    } else {
        parts.insert(0, text.to_owned());
    }
    entry.description = parts.join("\n\n");
    Some((entry, kind))
}
