/** Which rooms there are, and which of them may know which, types included: no room knows one above it. */

export interface Room {
  /** Its folder, or its one file. */
  name: string;
  /** Rooms it may know beside itself. */
  may: readonly string[];
}

const SHARED = ["shared/kit", "shared/protocol"];
const STORED = [...SHARED, "shared/archive", "shared/recording"];

export const ROOMS: readonly Room[] = [
  { name: "shared/kit", may: [] },
  { name: "shared/protocol", may: ["shared/kit"] },
  { name: "shared/archive", may: SHARED },
  { name: "shared/recording", may: SHARED },
  { name: "shared/llm", may: SHARED },
  { name: "shared/client", may: [...SHARED, "shared/recording"] },
  // Files that earlier versions look for at these paths.
  { name: "shared/carried-files.ts", may: [] },
  { name: "shared/service-notify.ts", may: ["shared/kit"] },
  { name: "drizzle", may: [...SHARED, "shared/recording"] },

  { name: "hub/platform", may: [...SHARED, "shared/archive", "drizzle"] },
  {
    name: "hub/fleet",
    may: [...STORED, "shared/carried-files.ts", "shared/llm", "hub/platform"],
  },
  {
    name: "hub/pipeline",
    may: [...SHARED, "shared/archive", "shared/llm", "drizzle", "hub/platform"],
  },
  // They run in tasks of pull workers, as anybody's plugins do.
  { name: "hub/plugins", may: ["shared/kit", "shared/protocol", "shared/client"] },
  { name: "hub/guide", may: [...SHARED, "hub/platform"] },
  {
    name: "hub/ui",
    may: [...SHARED, "shared/client", "shared/recording", "hub/platform"],
  },

  { name: "worker/config.ts", may: SHARED },
  { name: "worker/hub-files.ts", may: [...SHARED, "shared/client"] },
  { name: "worker/egress", may: [...SHARED, "worker/config.ts"] },
  {
    name: "worker/replay",
    may: [...SHARED, "shared/archive", "shared/client", "worker/hub-files.ts", "worker/egress"],
  },
  { name: "worker/link", may: SHARED },
  { name: "worker/metrics", may: SHARED },
  { name: "worker/upload", may: [...SHARED, "shared/client", "worker/link"] },
  { name: "worker/tasks", may: [...SHARED, "shared/archive", "shared/client"] },
  {
    name: "worker/browser",
    may: [
      ...STORED,
      "shared/client",
      "shared/llm",
      "worker/config.ts",
      "worker/hub-files.ts",
      "worker/egress",
      "worker/replay",
      "worker/link",
      "worker/upload",
    ],
  },
  {
    name: "worker/program",
    may: [
      ...SHARED,
      "shared/archive",
      "shared/service-notify.ts",
      "worker/config.ts",
      "worker/hub-files.ts",
      "worker/egress",
      "worker/replay",
      "worker/link",
      "worker/metrics",
      "worker/upload",
      "worker/tasks",
      "worker/browser",
    ],
  },

  {
    name: "hub/program",
    may: [
      ...SHARED,
      "shared/archive",
      "shared/client",

      "hub/platform",
      "hub/fleet",
      "hub/pipeline",
      "hub/plugins",
      "hub/guide",
      "hub/ui",
      "worker/config.ts",
      // What a worker's updates came to stands in its data directory.
      "worker/program",
    ],
  },
  {
    name: "hub/main.ts",
    may: [...SHARED, "shared/service-notify.ts", "hub/program", "worker/program"],
  },
];
