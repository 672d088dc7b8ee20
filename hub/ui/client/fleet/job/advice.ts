import { LOGIN_NEEDED } from "../../parts/status/job.ts";

/** What a person can do about a job's error, by its text; the first match counts. */
const ADVICE: readonly [RegExp, string][] = [
  [
    LOGIN_NEEDED,
    "The page requires a login. Give the host its cookies or a login recipe (Hosts), or use a profile that is logged in.",
  ],
  [
    /^queue timeout/,
    "It waited for a browser in vain; the error says what was missing. Run it again once that is fixed, or start more workers with: flotilla worker.",
  ],
  [
    /no answer within|max_wait/i,
    "The site is slow or does not answer this worker. Raise max_wait_seconds, or open the address in a browser to see whether it works.",
  ],
  [
    /certificate|ERR_CERT|TLS|SSL/i,
    "The site's certificate is not valid for this address. Check the address, or ask the site's owner.",
  ],
  [
    /could not open|cannot be reached|ERR_NAME|ERR_CONNECTION|ERR_ADDRESS|ERR_TUNNEL|ERR_INTERNET/,
    "Check the address for typing errors, and that the worker's machine can reach the site.",
  ],
  [/refused to open/, "The address leads somewhere the fleet's conventions do not allow."],
  [
    /recipe/i,
    "A step of the host's recipe did not work. Fix the recipe (Hosts), or submit again with fetch_strategy normal.",
  ],
  [
    /no engine|engine/i,
    "The language model did not answer. Check the engine (Engines) with its Test button.",
  ],
  [/no video/i, "The page may not hold a video, or it is behind a login."],
  [
    /crashed|connection to Chromium|was closed|without a result|lease|worker .*(gone|lost)/i,
    "The browser or its worker disappeared while the job ran. Run it again.",
  ],
  [
    /SyntaxError|is not defined|not found in module|bad_script/,
    "The script has an error: see the attempt's script and output.",
  ],
  [
    /judged|wrong_result|goal/i,
    "The attempts show what each script did and why it was not enough.",
  ],
];

const OTHERWISE =
  "The log says what happened before. Run it again, or change the options and submit it again.";

export const adviceFor = (error: string): string =>
  ADVICE.find(([says]) => says.test(error))?.[1] ?? OTHERWISE;
