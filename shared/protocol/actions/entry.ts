import type { z } from "@hono/zod-openapi";

/** What is known about an action apart from what it does (rules/session-actions#the-actions). */
interface Entry<S extends z.ZodObject, R extends z.ZodType> {
  /** Its arguments; names and meanings are Playwright's. */
  args: S;
  /** What it answers as `result`; the documents, the clients and the worker's own types are made of it. */
  result: R;
  /** One line, without a full stop: the title in the API's documents and in Python's help. */
  summary: string;
  example: z.input<S>;
  /** Its methods in TypeScript, one per line, with comments: this is what authors of scripts and models see. */
  script: readonly string[];
  /**
   * The arguments that scripts may give by position. Of several forms the first one whose values all have the types of
   * these arguments applies, else the last one.
   */
  positions?: readonly (readonly (keyof z.input<S> & string)[])[];
  /** The positional argument that is itself an object; any other positional object holds options. */
  object?: keyof z.input<S> & string;
  /** Its result is an image or a document, whose bytes are the answer if the Accept header asks for them. */
  is_picture?: true;
}

/** An action that may itself cause a page load. */
export const acts = <S extends z.ZodObject, R extends z.ZodType>(entry: Entry<S, R>) => ({
  ...entry,
  begins_load: true,
});

/** An action that only reads or waits: a load that begins meanwhile has another cause. */
export const looks = <S extends z.ZodObject, R extends z.ZodType>(entry: Entry<S, R>) => ({
  ...entry,
  begins_load: false,
});
