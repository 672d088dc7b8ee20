import { SECRET_NAME } from "./log-mask.ts";
import { TOKEN_PREFIX } from "./secret.ts";

/** Names of parameters that grant access, beside those that name a secret anywhere. */
const SECRET_PARAM =
  /^(auth|code|jwt|key|otp|pin|pw|pwd|sid|sig|ticket)$|access[-_]?key([-_]?id)?$|(auth|sess(ion)?)[-_]?(key|id|code)?$|signature$|nonce$/i;
/** JSON Web Tokens and the tokens of a hub, whatever the parameter is called. */
const SECRET_VALUE = new RegExp(
  `^(eyJ[\\w-]{5,}\\.[\\w-]{5,}\\.[\\w-]*|${TOKEN_PREFIX}[\\w-]{43})$`,
);

/** Whether a parameter of an address looks as if it granted access. */
export const isSecretParam = (name: string, value: string): boolean =>
  value !== "" && (SECRET_NAME.test(name) || SECRET_PARAM.test(name) || SECRET_VALUE.test(value));
