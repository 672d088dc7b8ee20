import { AUDIT, CLIENT, EXPIRES, FIND_LIMIT, LOG_FILTERS, OPTION, OUTPUT } from "../flags.ts";
import type { CommandTable } from "./entry.ts";

/** Commands about a hub as a whole. */
export const HUB_COMMANDS = {
  find: {
    kind: "client",
    about: "find jobs, sessions, hosts, workers, workloads, tasks and runs by a few words",
    words: ["WORDS…"],
    flags: [...CLIENT, FIND_LIMIT, ...OUTPUT],
  },
  logs: {
    kind: "client",
    about:
      "print the log of a job, a session, a run, a task or, without words, of the services; -f follows it",
    words: ["[ID|SLUG]", "[KEY]"],
    flags: [
      ...CLIENT,
      { name: "follow", short: "f", help: "go on to its end, or until Ctrl-C" },
      ...LOG_FILTERS,
      ...OUTPUT,
    ],
    examples: [
      "flotilla logs JOB -f",
      "flotilla logs thumbnails page-1 -f",
      "flotilla logs -f --level warn",
    ],
  },
  top: {
    kind: "client",
    about: "show lanes, what runs, queues and rates, live on a terminal and elsewhere once",
    words: [],
    flags: [
      ...CLIENT,
      { name: "every", value: "SECONDS", help: "how often it looks (2)" },
      { name: "once", help: "print it once" },
      ...OUTPUT,
    ],
  },
  open: {
    kind: "client",
    about:
      "open the page of a job, session, run, workload, worker or host in the browser, and print its address",
    words: ["[ID|NAME]"],
    flags: [
      ...CLIENT,
      { name: "viewer", help: "of a session or a running job: its screen alone, to take over" },
      { name: "print", help: "only print the address" },
      ...OUTPUT,
    ],
  },
  bench: {
    kind: "client",
    about:
      "measure this fleet: jobs, sessions and claims, with medians and p95; leaves nothing there",
    words: [],
    flags: [
      ...CLIENT,
      { name: "jobs", value: "N", help: "how many jobs, at most 1,000 (10)" },
      { name: "sessions", value: "N", help: "how many sessions, at most 200 (5)" },
      { name: "claims", value: "N", help: "how many tasks, at most 100,000 (1,000)" },
      {
        name: "url",
        value: "URL",
        help: "the page that is opened (the demo page, which this machine serves meanwhile)",
      },
      { name: "parallel", value: "N", help: "jobs at a time (as many as there are lanes)" },
      { name: "headless", help: "in browsers without a display" },
      OPTION,
      { name: "timeout", value: "SECONDS", help: "time for all of it (300)" },
      { name: "keep", help: "do not delete the jobs" },
      ...OUTPUT,
    ],
    examples: [
      "flotilla bench --jobs 50 --sessions 10",
      "flotilla bench --jobs 20 --url https://example.com/",
    ],
  },
  link: {
    kind: "client",
    about: "share one viewer, CDP socket or asset by a signed link that expires; end all links",
    words: ["viewer|cdp|asset|end-all", "[ID]", "[NAME]"],
    flags: [
      ...CLIENT,
      { name: "mode", value: "MODE", help: "view (the default for viewers) or take-over" },
      { name: "expires", value: "SECONDS", help: "how long the link is valid (3600)" },
      ...OUTPUT,
    ],
  },
  audit: {
    kind: "client",
    about: "list who changed what, newest first",
    words: [],
    flags: [...CLIENT, ...AUDIT, ...OUTPUT],
  },
  tokens: {
    kind: "client",
    about:
      "list, create and revoke tokens with roles; logs in with SVC_API_TOKEN or SVC_ADMIN_PASSWORD",
    words: ["list|create|revoke", "[NAME|ID]", "[viewer|submitter|operator|admin]"],
    flags: [...CLIENT, EXPIRES, ...OUTPUT],
  },
  mcp: {
    kind: "mcp",
    about: "serve agents the hub's tools (Model Context Protocol) on standard input and output",
    words: [],
    flags: CLIENT,
  },
  guide: {
    kind: "local",
    about: "list the pages of the guide, or print one as Markdown; needs no hub",
    words: ["[PAGE]"],
    flags: CLIENT,
  },
  completions: {
    kind: "local",
    about: "print the completions of flotilla for a shell; needs no hub",
    words: ["bash|zsh|fish"],
    flags: [],
    examples: [
      "mkdir -p ~/.local/share/bash-completion/completions",
      "flotilla completions bash > ~/.local/share/bash-completion/completions/flotilla",
    ],
  },
} as const satisfies CommandTable;
