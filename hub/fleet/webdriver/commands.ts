/**
 * What becomes of each command below `/session/{sid}/`: the one table. Everything that a client sends is hostile: what is
 * not here is unknown. `pass`: chromedriver answers it. What it does to the browser goes through the same guard as a CDP
 * client's commands (rules/cdp#refused-commands), so a command that opens a file or gives one to a page is refused there.
 * `file`: the hub takes it. `refused`: it would reach the machine, or what is not in a lane.
 */
type Fate = "pass" | "file" | "refused";

const W3C = `
GET url | POST url | POST back | POST forward | POST refresh | GET title | GET source
GET timeouts | POST timeouts
GET window | POST window | DELETE window | GET window/handles | POST window/new
GET window/rect | POST window/rect | POST window/maximize | POST window/minimize | POST window/fullscreen
POST frame | POST frame/parent
GET element/active | POST element | POST elements
POST element/*/element | POST element/*/elements | POST shadow/*/element | POST shadow/*/elements
GET element/*/shadow | GET element/*/selected | GET element/*/attribute/* | GET element/*/property/*
GET element/*/css/* | GET element/*/text | GET element/*/name | GET element/*/rect | GET element/*/enabled
GET element/*/computedrole | GET element/*/computedlabel | GET element/*/displayed
POST element/*/click | POST element/*/clear | POST element/*/value
GET element/*/screenshot | GET screenshot | POST print
POST execute/sync | POST execute/async
GET cookie | GET cookie/* | POST cookie | DELETE cookie | DELETE cookie/*
POST actions | DELETE actions
POST alert/dismiss | POST alert/accept | GET alert/text | POST alert/text
POST permissions
`;

/** What other specifications and Chromium add, of the page and its network. */
const EXTENSIONS = `
POST goog/cdp/execute | POST chromium/send_command | POST chromium/send_command_and_get_result
GET chromium/network_conditions | POST chromium/network_conditions | DELETE chromium/network_conditions
GET log/types | POST log | GET se/log/types | POST se/log
POST webauthn/authenticator | DELETE webauthn/authenticator/*
POST webauthn/authenticator/*/credential | GET webauthn/authenticator/*/credentials
DELETE webauthn/authenticator/*/credentials | DELETE webauthn/authenticator/*/credentials/*
POST webauthn/authenticator/*/uv
POST fedcm/canceldialog | POST fedcm/selectaccount | POST fedcm/clickdialogbutton | GET fedcm/accountlist
GET fedcm/title | GET fedcm/gettitle | GET fedcm/getdialogtype | POST fedcm/setdelayenabled | POST fedcm/resetcooldown
POST sensor | GET sensor/* | POST sensor/* | DELETE sensor/*
POST storage-access | POST reporting/generate_test_report
`;

/** A program of the machine, or a device near it. */
const REFUSED = `
POST chromium/launch_app | GET goog/cast/get_sinks | GET goog/cast/get_issue_message
POST goog/cast/set_sink_to_use | POST goog/cast/start_desktop_mirroring | POST goog/cast/start_tab_mirroring
POST goog/cast/stop_casting | GET se/files | POST se/files | DELETE se/files
`;

interface Command {
  readonly method: string;
  readonly path: RegExp;
  readonly fate: Fate;
}

/** `*` stands for one part of the path. */
const commandsOf = (text: string, fate: Fate): Command[] =>
  text
    .split(/[|\n]/)
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((line) => {
      const [method = "", path = ""] = line.split(" ");
      return { method, path: new RegExp(`^${path.replaceAll("*", "[^/]+")}$`), fate };
    });

const COMMANDS: readonly Command[] = [
  ...commandsOf(W3C, "pass"),
  ...commandsOf(EXTENSIONS, "pass"),
  ...commandsOf("POST file | POST se/file", "file"),
  ...commandsOf(REFUSED, "refused"),
];

/** Nothing in it can lead elsewhere, to whatever reads the path. */
const PLAIN = /^[A-Za-z0-9._~!$&'()+,;=:@%-]+(\/[A-Za-z0-9._~!$&'()+,;=:@%-]+)*$/;
const LEADS_ELSEWHERE = /(^|\/)(\.|%2e){1,2}(\/|$)|%2f|%5c|%00/i;

/** `unknown method`: the path is one of WebDriver's, but not with this method. */
export function fateOf(method: string, path: string): Fate | "unknown command" | "unknown method" {
  if (!PLAIN.test(path) || LEADS_ELSEWHERE.test(path)) return "unknown command";
  const known = COMMANDS.filter((command) => command.path.test(path));
  if (known.length === 0) return "unknown command";
  return known.find((command) => command.method === method)?.fate ?? "unknown method";
}
