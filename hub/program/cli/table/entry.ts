import type { Flag } from "../flags.ts";

export interface CommandEntry {
  /**
   * Who runs it: `client` calls a running hub, `operator` reads stores, files and units of this machine itself, `local` needs
   * neither, `admin` opens the database of a stopped hub, and `mcp` serves a program.
   */
  kind: "client" | "operator" | "admin" | "local" | "mcp";
  /** What it is for. */
  about: string;
  /** The words that follow it; one in brackets may be left out, one with … stands for any number. */
  words: readonly string[];
  flags: readonly Flag[];
  /** Lines to begin with, each as it is typed, one after the other. */
  examples?: readonly string[];
}

export type CommandTable = Record<string, CommandEntry>;
