import { ARCHIVED_DOCUMENTS } from "#shared/protocol/documents.ts";
import { CLIENT, LABEL, OPTION, OUTPUT, SESSION_FLAGS, WITH_LABEL } from "../flags.ts";
import type { CommandTable } from "./entry.ts";

/** Commands of the browser fleet. */
export const FLEET_COMMANDS = {
  fetch: {
    kind: "client",
    about: "run one fetch job and list what the browser downloaded",
    words: ["URL"],
    flags: [
      ...CLIENT,
      {
        name: "out",
        short: "o",
        value: "DIR",
        help: `write ${ARCHIVED_DOCUMENTS.join(", ")} and assets/ here`,
      },
      ...OUTPUT,
      { name: "headless", help: "run the browser without a display" },
      { name: "preset", value: "SLUG", help: "options of a preset; --option overrides them" },
      OPTION,
      LABEL,
    ],
  },
  jobs: {
    kind: "client",
    about: "list jobs, newest first",
    words: [],
    flags: [
      ...CLIENT,
      { name: "status", value: "STATUS", help: "only jobs in this state" },
      { name: "limit", value: "N", help: "how many, newest first (50)" },
      WITH_LABEL,
      ...OUTPUT,
    ],
  },
  sessions: {
    kind: "client",
    about: "list the open sessions, or those that have ended; show, open and close one",
    words: ["[list|show|open|close]", "[ID…|URL]"],
    flags: [
      ...CLIENT,
      { name: "ended", help: "those that have ended, the last one first" },
      { name: "limit", value: "N", help: "with --ended: how many (50)" },
      ...SESSION_FLAGS,
      ...OUTPUT,
    ],
    examples: [
      "flotilla sessions open https://example.com/ --option idle_ttl_s=600",
      "flotilla sessions list --ended --limit 10",
      "flotilla sessions close ID",
    ],
  },
  screenshot: {
    kind: "client",
    about: "save a picture of a page, of an open session or of a job",
    words: ["URL|ID"],
    flags: [
      ...CLIENT,
      {
        name: "out",
        short: "o",
        value: "FILE",
        help: "where it goes (HOST.png or ID.png); - prints it",
      },
      { name: "full-page", help: "the whole page instead of the window" },
      { name: "format", value: "png|jpeg|webp", help: "the picture's format (png)" },
      { name: "quality", value: "N", help: "of jpeg and webp, 1 to 100" },
      { name: "selector", value: "CSS", help: "the element that this selects" },
      { name: "wait", value: "SECONDS", help: "time that the page gets once it has loaded (0)" },
      { name: "headful", help: "open the page in a browser with a display" },
      ...SESSION_FLAGS.filter(({ name }) => name !== "headless"),
      ...OUTPUT,
    ],
    examples: ["flotilla screenshot https://example.com/ --full-page -o page.png"],
  },
  pdf: {
    kind: "client",
    about: "print a page, or an open headless session, to a PDF file",
    words: ["URL|ID"],
    flags: [
      ...CLIENT,
      {
        name: "out",
        short: "o",
        value: "FILE",
        help: "where it goes (HOST.pdf or ID.pdf); - prints it",
      },
      { name: "paper", value: "FORMAT", help: "A4 (the default), Letter, Legal, A3 …" },
      { name: "landscape", help: "wider than high" },
      { name: "no-background", help: "without backgrounds" },
      { name: "wait", value: "SECONDS", help: "time that the page gets once it has loaded (0)" },
      ...SESSION_FLAGS.filter(({ name }) => name !== "headless"),
      ...OUTPUT,
    ],
    examples: ["flotilla pdf https://example.com/ --landscape -o page.pdf"],
  },
  workers: {
    kind: "client",
    about: "list workers and their lanes",
    words: [],
    flags: [...CLIENT, ...OUTPUT],
  },
  engines: {
    kind: "client",
    about: "list the fleet's AI backends",
    words: [],
    flags: [...CLIENT, ...OUTPUT],
  },
  cancel: {
    kind: "client",
    about: "cancel a job",
    words: ["ID"],
    flags: [...CLIENT, ...OUTPUT],
  },
  diff: {
    kind: "client",
    about: "show what changed between two completed jobs: the page, its text and the assets",
    words: ["A", "B"],
    flags: [...CLIENT, ...OUTPUT],
  },
  import: {
    kind: "client",
    about: "make a completed job of a web archive, a WACZ or WARC file",
    words: ["FILE"],
    flags: [...CLIENT, ...OUTPUT],
  },
  video: {
    kind: "client",
    about: "save the recording of a job or session as a video, which the hub makes",
    words: ["ID"],
    flags: [
      ...CLIENT,
      { name: "format", value: "FORMAT", help: "mp4 (the default) or webm" },
      { name: "speed", value: "N", help: "how many times faster the video is, up to 16 (1)" },
      { name: "out", short: "o", value: "FILE", help: "where it goes (ID.mp4 or ID.webm)" },
    ],
  },
  watch: {
    kind: "client",
    about: "capture a page on a schedule and compare each time; without URL, list the watches",
    words: ["[URL]"],
    flags: [
      ...CLIENT,
      { name: "cron", value: "CRON", help: "when to capture it, e.g. '0 7 * * *'" },
      { name: "tz", value: "ZONE", help: "time zone of --cron (UTC)" },
      { name: "every", value: "SECONDS", help: "how often to capture it, instead of --cron" },
      { name: "name", value: "NAME", help: "what to call it" },
      OPTION,
      ...OUTPUT,
    ],
  },
  fleet: {
    kind: "client",
    about: "show how the workers' updates progress; pause, approve or pin them; drain workers",
    words: [
      "status|pause-updates|resume-updates|approve|pin|drain|activate",
      "[VERSION|WORKER=VERSION|off|WORKER…]",
    ],
    flags: [...CLIENT, ...OUTPUT],
  },
} as const satisfies CommandTable;
