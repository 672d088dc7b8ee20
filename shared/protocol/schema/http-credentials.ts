import { z } from "@hono/zod-openapi";
import { placeholderOf } from "../recipe-secrets.ts";

/** The login that a browser gives to servers which ask for one (rules/browser-options#http-logins). */

const ONE_PLACEHOLDER = /^\$\{ENV:([A-Za-z_][A-Za-z0-9_]*)\}$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: controls are exactly what is refused
const NO_CONTROLS = /^[^\u0000-\u001f\u007f]*$/;

const isOrigin = (text: string): boolean => {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.origin === text;
};

export const HttpCredentials = z
  .strictObject({
    username: z
      .string()
      .min(1)
      .max(500)
      .regex(NO_CONTROLS, "must not contain control characters")
      // RFC 7617: what is before the first colon is the user's name.
      .refine((name) => !name.includes(":"), "must not contain a colon"),
    password: z
      .string()
      .max(100)
      .regex(ONE_PLACEHOLDER, {
        error: `must be a placeholder such as ${placeholderOf("SHOP_PASSWORD")}, because records show it: the hub fills it in`,
      }),
    origin: z
      .string()
      .max(300)
      .refine(isOrigin, "must be an origin such as https://intranet.example.com")
      .optional()
      .meta({
        description: "The only server that may have it; by default every host of the variable.",
      }),
  })
  .openapi("HttpCredentials");
export type HttpCredentials = z.infer<typeof HttpCredentials>;

/** The variable whose value the password is. */
export const passwordVariable = ({ password }: HttpCredentials): string =>
  ONE_PLACEHOLDER.exec(password)?.[1] ?? "";

/** The login as a worker gets it. */
export const HttpLogin = z.object({
  username: z.string().max(500),
  password: z.string().max(10_000),
  /** Hosts that may have it: `login.site.test`, or `*.site.test` for all below it. */
  hosts: z.array(z.string().max(300)).max(1_000),
  /** Null: at any port, with TLS and without. */
  origin: z.string().max(300).nullable(),
});
export type HttpLogin = z.infer<typeof HttpLogin>;
