/** Heartbeats, 5 s apart: while several control planes are upgraded one after the other, each of them answers some. */
const STEADY_BEATS = 6;

/**
 * Takes the version of each control plane that answered a heartbeat, and reports a version once all of the latest
 * answers had it; again only after a different one came in between. A worker without lanes has no handshake to go by
 * (rules/updates#pull-workers).
 */
export function createSteadyVersion(tell: (version: string) => void): (version: string) => void {
  let last: string | null = null;
  let beats = 0;
  return (version) => {
    beats = version === last ? beats + 1 : 1;
    last = version;
    if (beats === STEADY_BEATS) tell(version);
  };
}
