import { z } from "@hono/zod-openapi";

const MAX_CHARS = 2_000;

/** An address that the program calls. Everybody who may read it sees all of it; `refusal`: what is told to whoever gives a login. */
export const httpUrl = (refusal: string) =>
  z
    .string()
    .max(MAX_CHARS)
    .refine((raw) => URL.canParse(raw) && /^https?:$/.test(new URL(raw).protocol), {
      error: "must be an http or https URL",
    })
    .refine((raw) => !URL.canParse(raw) || (!new URL(raw).username && !new URL(raw).password), {
      error: refusal,
    });
