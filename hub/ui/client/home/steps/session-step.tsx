import { Anchor, Button, TextInput } from "@mantine/core";
import { IconWorld } from "@tabler/icons-react";
import { type FormEvent, useState } from "react";
import { Link } from "wouter";
import { OPEN_MS } from "../../fleet/session/new-session.ts";
import { Viewer } from "../../fleet/viewer/viewer.tsx";
import { addressOf } from "../../lib/address.ts";
import { call } from "../../lib/http.ts";
import { sessionHref } from "../../lib/links.ts";
import { errorText, useChange } from "../../lib/query.ts";

/** It ends by itself when nobody comes back to it. */
const IDLE_S = 600;

interface SessionStepProps {
  sid: string;
  /** What was captured before. */
  address: string;
  onSession: (sid: string) => void;
}

/** Opens a browser that stays, to be watched and taken over beside it. */
export function SessionStep({ sid, address, onSession }: SessionStepProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const url = typed ?? address;
  const open = useChange(
    (at: string) =>
      call("POST /sessions", {
        json: at === "" ? { idle_ttl_s: IDLE_S } : { url: at, idle_ttl_s: IDLE_S },
        timeout_ms: OPEN_MS,
      }),
    {
      failed: "The session was not opened",
      onDone: ({ session_id }) => onSession(session_id),
      quiet: true,
    },
  );
  const go = (event: FormEvent) => {
    event.preventDefault();
    open.mutate(addressOf(url));
  };
  return (
    <form onSubmit={go} noValidate>
      <div className="first-line">
        <TextInput
          aria-label="Page of the session"
          placeholder="https://example.com/, or nothing"
          leftSection={<IconWorld size={14} />}
          value={url}
          error={open.error && errorText(open.error)}
          inputMode="url"
          autoComplete="off"
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <Button type="submit" loading={open.isPending} disabled={sid !== ""}>
          Open session
        </Button>
      </div>
      {sid !== "" && (
        <p className="first-status" role="status">
          <span>It is open, and ends by itself after ten minutes without use.</span>
          <Anchor component={Link} href={sessionHref(sid)} size="sm">
            Open its page
          </Anchor>
        </p>
      )}
    </form>
  );
}

/** The live screen: view it, or take over. */
export function SessionPicture({ sid }: { sid: string }) {
  return (
    <div className="first-viewer">
      <Viewer sid={sid} takeOver />
      <p className="first-caption">Click into the page and type: the browser is yours.</p>
    </div>
  );
}
