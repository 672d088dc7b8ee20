import { CloseButton, Code, Tabs, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import type { HarEntry } from "#shared/protocol/schema/har.ts";
import { getText } from "../../../lib/http.ts";
import { jobHref } from "../../../lib/links.ts";
import { errorText } from "../../../lib/query.ts";
import { getKey } from "../../../lib/query-key.ts";
import { bytesText, durationText } from "../../../lib/units.ts";
import { Copy } from "../../../parts/copy.tsx";
import { PHASE_TITLES, spansOf } from "../../job/har.ts";
import { placeText } from "../model/transport.ts";

interface DetailProps {
  har: HarEntry;
  at_ms: number;
  job_id: string | null;
  onClose: () => void;
}

const nameOf = (url: string): string => {
  if (!URL.canParse(url)) return url;
  const { pathname, search } = new URL(url);
  return pathname + search;
};

/** One request: what came back, what was sent, its headers, and where its time went. */
export function RequestDetail({ har, at_ms, job_id, onClose }: DetailProps) {
  const [part, setPart] = useState<string | null>("answer");
  const { request, response, serverIPAddress, _error } = har;
  const type = response.content.mimeType.split(";")[0] ?? "";
  return (
    <section className="player-detail" aria-label="Request">
      <header>
        <span className="player-detail-name" title={request.url}>
          {request.method} {nameOf(request.url)}
        </span>
        <b data-bad={isBad(har) || undefined}>
          {response.status || (har._unfinished ? "open" : "failed")} {response.statusText}
        </b>
        <Copy text={request.url} label="Copy the address" />
        <CloseButton size="sm" aria-label="Close the request" onClick={onClose} />
      </header>
      <dl className="player-facts">
        <Fact name="Sent at">{placeText(at_ms)}</Fact>
        <Fact name="Took">
          {durationText(Math.max(0, har.time))}
          {har.timings.wait > 0 && `, first byte after ${durationText(har.timings.wait)}`}
        </Fact>
        <Fact name="Type">
          {type || "–"}, {bytesText(Math.max(0, response.content.size))}
        </Fact>
        <Fact name="Address">{request.url}</Fact>
        {serverIPAddress && <Fact name="From">{serverIPAddress}</Fact>}
        {response.redirectURL && <Fact name="Redirects to">{response.redirectURL}</Fact>}
      </dl>
      {_error && <p className="player-error">{_error}</p>}
      <Tabs value={part} onChange={setPart} keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="answer">Answer</Tabs.Tab>
          <Tabs.Tab value="request">Request</Tabs.Tab>
          <Tabs.Tab value="headers">Headers</Tabs.Tab>
          <Tabs.Tab value="times">Times</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="answer">
          <Answer har={har} job_id={job_id} />
        </Tabs.Panel>
        <Tabs.Panel value="request">
          <Headers headers={request.headers} />
        </Tabs.Panel>
        <Tabs.Panel value="headers">
          <Headers headers={response.headers} />
        </Tabs.Panel>
        <Tabs.Panel value="times">
          <Times har={har} at_ms={at_ms} />
        </Tabs.Panel>
      </Tabs>
    </section>
  );
}

const isBad = ({ response: { status }, _unfinished }: HarEntry): boolean =>
  status >= 400 || (status === 0 && _unfinished !== true);

const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

const READABLE = /json|text|xml|javascript|html|css|urlencoded/i;
/** More of a body is read in its own view. */
const MOST_BYTES = 20_000;

function pretty(text: string, type: string): string {
  if (!/json/i.test(type)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // Cut off, or no JSON: as it came.
    return text;
  }
}

function Answer({ har, job_id }: { har: HarEntry; job_id: string | null }) {
  const { mimeType, size, _asset: asset } = har.response.content;
  const readable = READABLE.test(mimeType);
  const of = { params: { id: job_id ?? "", name: asset ?? "" } };
  const query = useQuery({
    queryKey: [...getKey("/jobs/{id}/assets/{name}", of), MOST_BYTES],
    queryFn: ({ signal }) => getText("GET /jobs/{id}/assets/{name}", { ...of, signal }, MOST_BYTES),
    enabled: readable && job_id !== null && asset !== undefined,
    refetchInterval: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (job_id === null || asset === undefined)
    return (
      <Text size="xs" c="dimmed">
        {size > 0 ? "Its body is not stored." : "It had no body."}
      </Text>
    );
  return (
    <>
      {query.data !== undefined && (
        <Code block className="player-body" tabIndex={0}>
          {pretty(query.data, mimeType)}
        </Code>
      )}
      {query.error && <p className="player-error">{errorText(query.error)}</p>}
      <Link className="player-link" href={jobHref(job_id, { tab: "assets", asset })}>
        Its body: {asset}
      </Link>
    </>
  );
}

function Headers({ headers }: { headers: { name: string; value: string }[] }) {
  if (headers.length === 0)
    return (
      <Text size="xs" c="dimmed">
        None were noted.
      </Text>
    );
  return (
    <dl className="player-facts" data-mono>
      {headers.map(({ name, value }, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a header may come twice
        <div key={i}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Times({ har, at_ms }: { har: HarEntry; at_ms: number }) {
  return (
    <dl className="player-facts job-legend">
      <Fact name="Began after">{placeText(at_ms)}</Fact>
      {spansOf(har, 0).map(({ name, ms }) => (
        <div key={name}>
          <dt>
            <i data-phase={name} aria-hidden /> {PHASE_TITLES[name]}
          </dt>
          <dd>{durationText(ms)}</dd>
        </div>
      ))}
      <Fact name="In all">{durationText(Math.max(0, har.time))}</Fact>
    </dl>
  );
}
