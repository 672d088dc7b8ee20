import { CDP_PORT_BASE, DISPLAY_BASE, VNC_PORT_BASE } from "#shared/protocol/limits.ts";
import { assignment } from "./env-file.ts";
import { type Role, stateName, type Target } from "./roles.ts";

/** One line of an environment file: a variable with its value, or only its description. */
interface Line {
  name: string;
  about: string;
  /** Shown commented out when nothing sets the variable. */
  example: string;
}

const SECRET: Line = {
  name: "WORKER_SECRET",
  about: "Secret shared by hubs and workers: the same on every machine.",
  example: "",
};
const TOKEN: Line = {
  name: "SVC_API_TOKEN",
  about: "If set, every call of the API needs it: the same on every machine.",
  example: "",
};
const LOG: Line = { name: "SVC_LOG_LEVEL", about: "debug, info, warn or error.", example: "info" };

/** For the bucket that SVC_OBJECTS_URL may name. */
const KEYS: Line[] = [
  {
    name: "S3_ACCESS_KEY_ID",
    about: "Key and secret of the bucket, when bodies go to s3://BUCKET?endpoint=….",
    example: "",
  },
  { name: "S3_SECRET_ACCESS_KEY", about: "", example: "" },
];
/** Bun reads it at the start of the process. */
const authorities = (addresses: string): Line => ({
  name: "NODE_EXTRA_CA_CERTS",
  about: `Certificates (PEM) of your own authority, for ${addresses}.`,
  example: "/etc/ssl/flotilla-ca.pem",
});
const SERVER_AUTHORITIES = authorities("rediss:// and https:// addresses");
const WORKER_AUTHORITIES = authorities("https:// addresses other than the hubs'");
const HUB_AUTHORITY: Line = {
  name: "SVC_TLS_CA",
  about: "Authority (PEM) that signed the hubs' certificates, if they serve https.",
  example: "/etc/flotilla/tls/ca.pem",
};
const redis = (about: string): Line => ({
  name: "SVC_REDIS_URL",
  about,
  example: "redis://:PASSWORD@db.lan:6379/0",
});
const HUB_REDIS = redis(
  "Redis that several hubs share, besides the database and the bodies; unset: this is the only hub.",
);
const CONTROL_REDIS = redis(
  "Redis of the hubs and control planes on this database; unset: they learn of each other's changes later.",
);

/** Files that are the same for all hubs and control planes of one database. */
const ALIKE: Line[] = [
  {
    name: "SVC_SECRET_KEY_FILE",
    about:
      "Key that encrypts cookies and profiles, the same file on every hub; unset: secret.key in the state directory, which a hub on Postgres does not create.",
    example: "/var/lib/flotilla/secret.key",
  },
  {
    name: "SVC_PLUGINS_DIR",
    about: "Folder of the pipeline's plugins; unset: plugins/ in the state directory.",
    example: "/srv/flotilla/plugins",
  },
];

const BACKUPS: Line[] = [
  {
    name: "SVC_BACKUP_DIR",
    about: "Directory for nightly backups, writable by the service's user; unset: no backups.",
    example: "/var/backups/flotilla",
  },
  { name: "SVC_BACKUP_SCHEDULE", about: "", example: '"0 3 * * *"' },
  { name: "SVC_BACKUP_KEEP", about: "", example: "7" },
];

const SERVER: Line[] = [
  { name: "SVC_HOST", about: "Address to listen on.", example: "0.0.0.0" },
  { name: "SVC_PORT", about: "Port to listen on.", example: "8000" },
  {
    name: "SVC_TLS_CERT",
    about:
      "Certificate and key (PEM) for serving https; the service's user must be able to read both.",
    example: "/etc/flotilla/tls/fullchain.pem",
  },
  { name: "SVC_TLS_KEY", about: "", example: "/etc/flotilla/tls/privkey.pem" },
  HUB_AUTHORITY,
  SECRET,
  TOKEN,
  {
    name: "SVC_DB_URL",
    about:
      "Database; unset: flotilla.db in the state directory. Several hubs or control planes need Postgres.",
    example: "postgres://flotilla:PASSWORD@db.lan/flotilla",
  },
];

const LINES: Record<Role, Line[]> = {
  hub: [
    ...SERVER,
    HUB_REDIS,
    {
      name: "SVC_OBJECTS_URL",
      about:
        "Where bodies go; unset: objects/ in the state directory. Several hubs need one place.",
      example: "file:/srv/flotilla/objects",
    },
    ...KEYS,
    ...ALIKE,
    {
      name: "SVC_ADVERTISE_URL",
      about: "Address at which the other hubs reach this one; unset: its first LAN address.",
      example: "http://hub1.lan:8000",
    },
    {
      name: "PUBLIC_BASE_URL",
      about: "Address for people and workers: the router's, if there is one.",
      example: "http://flotilla.lan:8000",
    },
    {
      name: "SVC_ADMIN_PASSWORD",
      about:
        "Administrator's password, at least 12 characters; unset: flotilla admin reset-password.",
      example: "",
    },
    ...BACKUPS,
    SERVER_AUTHORITIES,
    LOG,
  ],
  control: [
    ...SERVER,
    CONTROL_REDIS,
    {
      name: "SVC_OBJECTS_URL",
      about: "Where blobs of plugins go; unset: objects/ in the state directory.",
      example: "file:/srv/flotilla/objects",
    },
    ...KEYS,
    ...ALIKE,
    {
      name: "SVC_ADMIN_PASSWORD",
      about:
        "Administrator's password, at least 12 characters; unset: flotilla admin reset-password.",
      example: "",
    },
    ...BACKUPS,
    SERVER_AUTHORITIES,
    LOG,
  ],
  worker: [
    {
      name: "HUB_URL",
      about: "The hub, or the router in front of several; if set, this worker runs browsers.",
      example: "ws://flotilla.lan:8000",
    },
    {
      name: "SVC_CONTROL_URL",
      about: "The control plane; if set, this worker runs tasks of the pipeline.",
      example: "http://flotilla.lan:8000",
    },
    HUB_AUTHORITY,
    SECRET,
    TOKEN,
    {
      name: "SVC_WORKER_ID",
      about: "Unique name in the fleet.",
      example: "",
    },
    { name: "LANE_POOL", about: "How many browsers run at a time.", example: "2" },
    { name: "MAX_CONCURRENT", about: "How many jobs and sessions run at a time.", example: "2" },
    { name: "SVC_SLOTS", about: "How many pipeline tasks run at a time.", example: "4" },
    {
      name: "SVC_DISPLAY_BASE",
      about:
        "First display and ports of the lanes; they must not overlap with another worker's on this machine.",
      example: String(DISPLAY_BASE),
    },
    { name: "SVC_CDP_PORT_BASE", about: "", example: String(CDP_PORT_BASE) },
    { name: "SVC_VNC_PORT_BASE", about: "", example: String(VNC_PORT_BASE) },
    { name: "NOVNC_BASE_PORT", about: "Hubs reach the worker's bridges here.", example: "6080" },
    WORKER_AUTHORITIES,
    LOG,
  ],
};

/** Variables that `install` writes if they are given as flags or in its own environment. */
export const variablesOf = (role: Role): string[] => LINES[role].map(({ name }) => name);

/** The environment file of `target`: `values` set, everything else as a comment to start from. */
export function envText(target: Target, values: Record<string, string>): string {
  const { role, instance } = target;
  const title = role === "worker" ? `worker ${instance}` : role === "hub" ? "hub" : "control plane";
  const lines = LINES[role].flatMap(({ name, about, example }) => {
    const value = values[name];
    const line = value === undefined ? `#${name}=${example}` : assignment(name, value);
    return about === "" ? [line] : ["", `# ${about}`, line];
  });
  return [
    `# Flotilla ${title}: variables of its unit. The guide lists every variable (reference/variables). Changes take effect after a restart.`,
    ...lines,
    "",
    "# The unit's state directory, also used by `flotilla doctor`; the service may write nowhere else.",
    `SVC_DATA_DIR=/var/lib/${stateName(target)}`,
    "",
  ].join("\n");
}
