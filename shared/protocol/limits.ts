/** Constants of the fleet that are not variables, each with the rule that names it. */

/** Counted in bytes of UTF-8 (rules/job-options#the-options). */
export const MAX_CODE_BYTES = 200 * 1024;
export const CODEGEN_ATTEMPTS = { min: 1, max: 10, default: 3 } as const;
export const ATTEMPT_TIMEOUT_S = { min: 30, max: 864_000, default: 180 } as const;
/** Scripted jobs that one hub runs at a time (rules/scheduling#runners). */
export const RUN_CONCURRENCY = { min: 1, max: 50, default: 3 } as const;
/**
 * For how long a scripted job leaves the last free lane to fetch jobs; by the age of 90 s it has a free lane
 * (rules/scheduling#lane-reserve).
 */
export const LANE_RESERVE_S = { max: 90, default: 20 } as const;

/** Lane i uses display :100+i, CDP 9223+i, VNC 5901+i; its viewer bridge is NOVNC_BASE_PORT+i (rules/lanes#ports-of-a-lane). */
export const DISPLAY_BASE = 100;
export const CDP_PORT_BASE = 9223;
export const VNC_PORT_BASE = 5901;
export const RESOLUTION = { width: 1920, height: 1080 } as const;

/**
 * How long a worker counts as alive after its last heartbeat, and how often it sends one (rules/workers#alive,
 * rules/workers#heartbeats).
 */
export const WORKER_LIVENESS_MS = 120_000;
export const HEARTBEAT_INTERVAL_MS = 15_000;
/** A worker at or above this share of its disk takes no job (rules/scheduling#candidates). */
export const MAX_DISK_PCT = 90;
/** A page that answers with this or more has refused or failed, whatever was captured of it. */
export const FIRST_HTTP_ERROR = 400;
/** How many POST /jobs may wait at a time; further ones get 503 immediately. */
export const MAX_WAITING_SUBMITS = 1_000;
/**
 * How long to wait for a slow key-value store, and how old the view used in its place may be
 * (rules/workers#list-and-read-workers).
 */
export const KV_READ_TIMEOUT_MS = 1_500;
export const FLEET_VIEW_MAX_AGE_MS = 60_000;

/** The message of a job whose worker went away (rules/jobs#lost-workers). */
export const WORKER_LOST_ERROR = "orchestrator killed by hub restart";

/** No wait of a job may be longer than an hour (rules/job-options#the-options). */
export const MAX_WAIT_S = 3_600;
/** Longest target URL; Chromium itself refuses to display more than 2 MB. */
export const MAX_URL_LENGTH = 16_384;
/** A JSON request body. Holds 200 KB of code with every byte escaped. */
export const MAX_JSON_BODY_BYTES = 2 * 1024 * 1024;
/** One document of a job, such as `page.html`. */
export const MAX_DOCUMENT_BYTES = 256 * 1024 * 1024;
/** What Playwright may write of one trace, not compressed, and how long it may trace. */
export const TRACE_LIMITS = { max_bytes: 64 * 1024 * 1024, max_ms: 30 * 60_000 } as const;
/** Videos of one job (`download_video`), and how long downloading them may take in total. */
export const VIDEO_LIMITS = { max_count: 10, total_ms: 1_800_000 } as const;
/** One message of the worker link. */
export const MAX_LINK_FRAME_BYTES = 4 * 1024 * 1024;
/** One message of a CDP client or of the browser it talks to; a screenshot of a very long page takes 60 MB. */
export const MAX_CDP_FRAME_BYTES = 128 * 1024 * 1024;
/** How long a worker may take to accept an assignment. */
export const ASSIGN_ACK_MS = 5_000;
/** List paging (rules/http#lists). */
export const LIST_LIMIT = { default: 50, max: 200 } as const;
/** How long an Idempotency-Key is kept (rules/http#idempotency-keys). */
export const IDEMPOTENCY_TTL_MS = 86_400_000;
/** An asset name is at most this many bytes, so it fits every file system even with a suffix. */
export const MAX_ASSET_NAME_BYTES = 180;

/** Links that a job keeps of its page and the frames of it. */
export const MAX_LINKS = 100_000;

/** Session lifetimes in seconds (rules/sessions#open-a-session, rules/sessions#idle-time). */
export const SESSION_TTL_S = {
  idle_min: 5,
  idle_max: 86_400,
  idle_default: 300,
  kept_default: 60,
  ttl_default: 14_400,
  ttl_max: 864_000,
} as const;
/** How long a session waits for its last CDP client, where it ends with it, in seconds. */
export const RECONNECT_S = { min: 0, max: 600, of_connection: 15 } as const;
/** How long a signed link is valid, in seconds. The bounds are those of S3's presigned URLs. */
export const LINK_TTL_S = { least: 1, usual: 3_600, most: 604_800 } as const;
/** How long an action may take by default, and at most. */
export const ACTION_TIMEOUT_S = { default: 30, max: 3_600 } as const;
/** How long a dialog of a page waits for a person or an action before it is dismissed. */
export const DIALOG_WAIT_S = 60;
/**
 * The same for actions that call an engine; a single call has the engine's own timeout
 * (rules/session-actions#timeout-of-an-action).
 */
export const ENGINE_ACTION_TIMEOUT_S = { ask: 120, agent: 600 } as const;
/** Characters of one piece of a snapshot; a line has at most 2,000 (rules/session-actions#references). */
export const SNAPSHOT_CHARS = { min: 2_000, max: 200_000, default: 40_000 } as const;
/** A question or goal in bytes, and the JSON of the schema for its answer (rules/session-actions#ask). */
export const MAX_PROMPT_BYTES = 20 * 1024;
/** Steps of an agent. */
export const AGENT_STEPS = { min: 1, max: 50, default: 15 } as const;
/** How long the hub waits for a worker beyond an action's own timeout. */
export const ACTION_GRACE_MS = 3_000;
/** Actions of one session that may run at a time. */
export const MAX_ACTIONS_AT_ONCE = 32;
/** The files of one set_input_files call. */
export const MAX_INPUT_FILES_BYTES = 100 * 1024 * 1024;
/** A downloaded file that `read_download` gives in its answer. */
export const MAX_READ_DOWNLOAD_BYTES = 10 * 1024 * 1024;
/** An action's result up to this size travels on the link, a larger one through the worker's bridge. */
export const MAX_INLINE_RESULT_BYTES = 256 * 1024;
/** Of the part of a page that a screenshot shows: a browser holds each of them in four bytes, more than once. */
export const MAX_CLIP_PIXELS = 40_000_000;
/** Calls that open a page and answer what is in it (rules/one-shot-calls#limits). */
export const ONE_SHOT = {
  /** How long the page may take, in seconds, from its lane to its answer. */
  timeout_s: { min: 1, max: 300, default: 60 },
  /** What an answer may have. */
  max_bytes: 64 * 1024 * 1024,
  /** What is read of the elements of one call to /scrape, in characters, and how many of each selector. */
  scrape_chars: 16 * 1024 * 1024,
  scrape_elements: 1_000,
  /** Pixels of the window, and of what a picture shows of the page, with the scale. */
  pixels: 40_000_000,
} as const;
/** Clients that speak WebDriver (rules/webdriver#limits). */
export const WEBDRIVER = {
  /** How long a command may take, whatever timeouts the client has set. */
  call_ms: 600_000,
  /** How long a browser's answer to a new client may take, with the start of chromedriver. */
  start_ms: 60_000,
  /** What chromedriver's answer to a new client may have. */
  answer_bytes: 1024 * 1024,
  /** The call that brings a file for a page, which is a zip in base64. */
  file_bytes: 64 * 1024 * 1024,
} as const;
/** Recipes of a host, actions of a recipe, cookies of a host. */
export const MAX_RECIPES = 500;
export const MAX_RECIPE_ACTIONS = 500;
export const MAX_HOST_COOKIES = 5_000;
/** One recipe, and the login recipe, as JSON: a job's record and its assignment carry them. */
export const MAX_RECIPE_BYTES = 256 * 1024;
/** All recipes of a host as JSON. */
export const MAX_HOST_RECIPES_BYTES = 2 * 1024 * 1024;
/** The cookies of one job, as JSON; the assignment must fit into a frame of the link. */
export const MAX_JOB_COOKIES_BYTES = 2 * 1024 * 1024;
/** Files and directories of a profile's archive (rules/profiles#hostile-archives). */
export const MAX_PROFILE_ENTRIES = 200_000;
/** A profile may unpack to this many times the bytes that its archive may have. */
export const PROFILE_UNPACK_FACTOR = 4;
/** An uploaded archive may unpack to this many times its own size, once it is this large; gzip can reach 1,030. */
export const MAX_UNPACK_RATIO = { above_bytes: 256 * 1024 * 1024, most: 400 } as const;
/** Shorter bodies go through the hub even where workers may put them into the object store themselves. */
export const DIRECT_UPLOADS_FROM = 1024 * 1024;
/** Tasks of one batch (rules/pipeline-tasks#submit-a-batch). */
export const MAX_BATCH_ITEMS = 10_000;
/** Pages that are captured again and again (rules/watches#limits). */
export const WATCH_LIMITS = {
  /** Watches of a fleet. */
  watches: 1_000,
  every_s: { min: 60, max: 31_536_000 },
  keep: { min: 2, max: 1_000, default: 30 },
  /** Of lines and of URLs that do not count, and characters of one. */
  patterns: 20,
  pattern_chars: 200,
  /** For how long a capture that cannot be compared is tried again. */
  compare_ms: 600_000,
} as const;
/** What a comparison of two jobs reads and answers at most (rules/comparison#limits). */
export const COMPARISON_LIMITS = {
  /** Assets of each job that are compared. */
  assets: 20_000,
  /** Items in each list of assets, and characters of a URL in them. */
  list: 200,
  url_chars: 2_000,
  /** What is read of each page, and what is kept of its text. */
  html_bytes: 8 * 1024 * 1024,
  text_chars: 1024 * 1024,
  text_lines: 20_000,
  line_chars: 1_000,
  /** Removed and added lines, beyond which two texts count as too different; and the time for finding them. */
  edits: 1_000,
  diff_ms: 30_000,
  /** What is shown of the differences. */
  hunk_lines: 500,
  hunk_chars: 128 * 1024,
  /** What is compared of each picture: its file, its longer side, and its pixels. A worker's have 8 million at most. */
  picture_bytes: 16 * 1024 * 1024,
  picture_side: 32_767,
  picture_pixels: 16_000_000,
  /** How much a channel of 0 to 255 may differ before a pixel does: edges are not always smoothed alike. */
  channel: 16,
  /** Boxes that show where two pictures differ. */
  boxes: 50,
  /** How long the object store may take for a page, and for a picture. */
  read_ms: 30_000,
  /** Comparisons that wait for their turn. */
  waiting: 16,
} as const;
