//! Saves what the list or the board shows as a view of the project, and forgets it.

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};

use super::action::{Action, VIEWS_PATH};
use super::done::Done;
use super::fields::{ACTION, BACK, NAME, TOKEN};
use super::form_token::Purpose;
use super::handler::Received;
use super::many::ManyForms;
use super::person::known_name;
use crate::WebState;
use crate::page_data::{self, PageData};
use crate::pages::error::{ErrorPage, WebError};
use crate::query::Place;
use crate::strings::actions as text;
use ait_domain::text::shortened;

/// How many views a project has, and how many characters a name.
const MAX_VIEWS: usize = 30;
const MAX_NAME_CHARS: usize = 40;

/// Renders the form for the page with this address: `name` is that of the view that it is.
pub(crate) fn form(forms: &ManyForms, address: &str, name: Option<&str>) -> Markup {
    let form = |action: Action, field: Markup| {
        html! {
            form.view method="post" action=(VIEWS_PATH) {
                input type="hidden" name=(TOKEN) value=(forms.tokens.token(&Purpose::of_project(Action::SaveView, &forms.person.principal)));
                input type="hidden" name=(BACK) value=(address);
                (field)
                (known_name(&forms.person))
                button type="submit" name=(ACTION) value=(action) { (text::label(action)) }
            }
        }
    };
    let typed = html! {
        input type="text" name=(NAME) required maxlength=(MAX_NAME_CHARS) placeholder="Name of this view"
            aria-label="Name of this view" autocomplete="off" dir="auto";
    };
    match name {
        Some(name) => {
            form(Action::ForgetView, html! { input type="hidden" name=(NAME) value=(name); })
        }
        None => html! {
            details.fold #save-view {
                summary { (text::label(Action::SaveView)) }
                (form(Action::SaveView, typed))
            }
        },
    }
}

/// Takes the form.
pub(super) async fn act(
    State(state): State<WebState>,
    received: Received,
) -> Result<Response, ErrorPage> {
    let agent = received.agent(Action::SaveView)?;
    let Received { tokens, person, fields } = received;
    let invalid = |problem: &str| WebError::invalid(problem.to_owned());
    let name = fields.get(NAME).trim();
    let is_name = !name.is_empty()
        && shortened(name, MAX_NAME_CHARS) == name
        && !name.contains(char::is_control);
    if !is_name {
        return Err(invalid("A view needs a name of 1 to 40 characters.").into());
    }
    let (place, query) = Place::of_address(fields.get(BACK));
    let saved = place.query_string(&query);
    let (action, back, query) = match Action::from_word(fields.get(ACTION)) {
        Some(Action::SaveView) => (Action::SaveView, place.address(&query), Some(&*saved)),
        Some(Action::ForgetView) => (Action::ForgetView, place.path().to_owned(), None),
        _ => return Err(WebError::not_found().into()),
    };
    let kept = state.read_model.read(PageData::of).await?;
    if query.is_some() && kept.views.len() >= MAX_VIEWS && !kept.views.contains_key(name) {
        return Err(invalid("There are 30 views already. Forget one first.").into());
    }
    let change = PageData::keeping_view(name, query);
    let tracker = &state.tracker;
    tracker.patch_key(page_data::KEY, change, agent.clone()).await.map_err(WebError::of_change)?;
    Ok(Done::new(action, None, None).lead_to(&back, &tokens, &person, &agent))
}
