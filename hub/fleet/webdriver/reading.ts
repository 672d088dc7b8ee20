import { WebDriverError } from "#shared/protocol/webdriver-error.ts";

export type Json = Record<string, unknown>;

/** What is read so far of a client's capabilities. */
export interface Reading {
  /** For POST /sessions, which judges it. */
  readonly session: Json;
  /** For chromedriver. */
  readonly driver: Json;
  /** What was asked for and has no meaning here. */
  readonly ignored: string[];
}

/** Why a browser cannot be what is asked; another of `firstMatch` may be. */
export class NoMatch extends Error {}

export const wrong = (message: string) => new WebDriverError("invalid argument", message);
export const notCreated = (message: string) => new WebDriverError("session not created", message);
