//! What stood in the way, in words.

use bollard::errors::Error;
use bollard::models::{ContainerState, ContainerStateStatusEnum};

/// What an engine said, or why it could not be asked.
pub(super) fn of(error: &Error) -> String {
    match error {
        Error::DockerResponseServerError { message, .. } => message.trim().to_owned(),
        Error::SocketNotFoundError(path) => format!("no socket of a Docker engine can be seen at {path}"),
        Error::RequestTimeoutError => "the Docker engine does not answer in time".to_owned(),
        other => {
            let mut cause: &dyn std::error::Error = other;
            while let Some(deeper) = cause.source() {
                cause = deeper;
            }
            format!("the Docker engine cannot be asked: {cause}")
        }
    }
}

/// Says why nothing can be started in a container; nothing if it is running.
pub(super) fn not_running(state: &ContainerState) -> Option<String> {
    use ContainerStateStatusEnum as Status;
    Some(match state.status {
        Some(Status::RUNNING) => return None,
        Some(Status::PAUSED) => "is paused".to_owned(),
        Some(Status::RESTARTING) => "is restarting".to_owned(),
        Some(Status::CREATED) => "was never started".to_owned(),
        Some(Status::REMOVING) => "is being removed".to_owned(),
        Some(Status::DEAD) => "is dead".to_owned(),
        Some(Status::EXITED) => state
            .exit_code
            .map_or_else(|| "is stopped".to_owned(), |code| format!("is stopped (exit status {code})")),
        // Engines that do not say it in one word say it in three.
        _ if state.paused == Some(true) => "is paused".to_owned(),
        _ if state.restarting == Some(true) => "is restarting".to_owned(),
        _ if state.running == Some(false) => "is stopped".to_owned(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_its_words() {
        use ContainerStateStatusEnum as Status;
        for (status, expected) in [
            (Status::RUNNING, None),
            (Status::PAUSED, Some("is paused")),
            (Status::RESTARTING, Some("is restarting")),
            (Status::CREATED, Some("was never started")),
            (Status::REMOVING, Some("is being removed")),
            (Status::DEAD, Some("is dead")),
            (Status::EXITED, Some("is stopped (exit status 137)")),
        ] {
            let state = ContainerState { status: Some(status), exit_code: Some(137), ..Default::default() };
            assert_eq!(not_running(&state).as_deref(), expected);
        }
        let state = ContainerState { running: Some(true), paused: Some(true), ..Default::default() };
        assert_eq!(not_running(&state).as_deref(), Some("is paused"));
        assert_eq!(not_running(&ContainerState::default()), None);
    }
}
