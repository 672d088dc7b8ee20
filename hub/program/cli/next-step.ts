import type { FlotillaError } from "#shared/client/errors.ts";

/** Where what a refusal names is listed. */
const LISTS: Record<string, string> = {
  job: "flotilla jobs",
  session: "flotilla sessions",
  recording: "flotilla sessions list --ended",
  workload: "flotilla workloads",
  task: "flotilla tasks list SLUG",
  run: "flotilla runs SLUG",
  worker: "flotilla workers",
  token: "flotilla tokens list",
  watch: "flotilla watch",
};

function listOf(message: string): string | null {
  const noun = new RegExp(`\\b(${Object.keys(LISTS).join("|")})\\b`, "i").exec(message)?.[1];
  return noun === undefined ? null : (LISTS[noun.toLowerCase()] ?? null);
}

/** What helps after a call went wrong: a command to type, or a few words; null where nobody knows. */
export function nextStep({
  status,
  message,
}: Pick<FlotillaError, "status" | "message">): string | null {
  if (/administrator password/.test(message)) return "set SVC_ADMIN_PASSWORD";
  switch (status) {
    case 0:
      return "flotilla dev starts a hub on this machine; --hub URL or SVC_HUB names another one";
    case 401:
      return "set SVC_API_TOKEN; an administrator creates one with: flotilla tokens create NAME ROLE";
    case 403:
      return "a token of another role, which an administrator creates with: flotilla tokens create NAME ROLE";
    case 404:
      return message === "no such path"
        ? "--hub URL of a hub: this is a control plane, or an earlier version, and has no such call"
        : listOf(message);
    case 503:
      return "flotilla top, to see what the fleet is busy with";
    default:
      return null;
  }
}
