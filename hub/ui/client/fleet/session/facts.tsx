import { Anchor, Text } from "@mantine/core";
import { Link } from "wouter";
import type { Session } from "#shared/protocol/schema/session.ts";
import { workersHref } from "../../lib/links.ts";
import { durationText } from "../../lib/units.ts";
import { Fact, FactList } from "../../parts/facts.tsx";
import { Ago } from "../../parts/text.tsx";
import { cdpAddress } from "../viewer/addresses.ts";

/** When the session ends if nobody acts again. */
function idleEnd({ idle_ttl_s, last_active_at, expires_at }: Session): string | null {
  if (idle_ttl_s === null) return null;
  const at = Math.min(Date.parse(last_active_at) + idle_ttl_s * 1_000, Date.parse(expires_at));
  return new Date(at).toISOString();
}

function egressText({ mode, allow, deny }: NonNullable<Session["egress"]>): string {
  const parts = [
    mode ?? "what the worker allows",
    ...(allow.length > 0 ? [`also ${allow.join(", ")}`] : []),
    ...(deny.length > 0 ? [`never ${deny.join(", ")}`] : []),
  ];
  return parts.join("; ");
}

/** Whether there is a login, and never which. */
function proxyText({ server, username, bypass }: NonNullable<Session["proxy"]>): string {
  const login = username === null ? "" : ", with a login";
  return `${server}${login}${bypass === null ? "" : `, not for ${bypass}`}`;
}

export function Facts({ session }: { session: Session }) {
  const { session_id, worker_id, lane_idx, idle_ttl_s } = session;
  const idle_end = idleEnd(session);
  return (
    <FactList label="State of the session">
      <Fact name="Session" copy={session_id}>
        <Text span size="xs" ff="monospace" className="wrap">
          {session_id}
        </Text>
      </Fact>
      <Fact name="Title">{session.title || "–"}</Fact>
      <Fact name="Worker">
        <Anchor
          component={Link}
          size="sm"
          underline="always"
          href={workersHref("browser", { worker: worker_id })}
        >
          {worker_id}
        </Anchor>
        , lane {lane_idx}
      </Fact>
      {session.egress && <Fact name="May connect to">{egressText(session.egress)}</Fact>}
      {session.proxy && <Fact name="Proxy">{proxyText(session.proxy)}</Fact>}
      <Fact name="Opened">
        <Ago at={session.created_at} />
      </Fact>
      <Fact name="Last used">
        <Ago at={session.last_active_at} />
      </Fact>
      <Fact name="Ends">
        {idle_end === null || idle_ttl_s === null ? (
          "with its job"
        ) : (
          <>
            <Ago at={idle_end} /> if nobody uses it (idle for {durationText(idle_ttl_s * 1_000)})
          </>
        )}
      </Fact>
      <Fact name="At the latest">
        <Ago at={session.expires_at} />
      </Fact>
      <Fact name="CDP" copy={cdpAddress(session_id)}>
        <Text span size="xs" ff="monospace" className="wrap">
          {cdpAddress(session_id)}
        </Text>
      </Fact>
    </FactList>
  );
}
