import { Badge, Button, Menu, Text } from "@mantine/core";
import {
  IconCamera,
  IconChevronDown,
  IconDownload,
  IconPencil,
  IconRefresh,
} from "@tabler/icons-react";
import { Link, useLocation } from "wouter";
import { pathOf } from "#shared/client/operation.ts";
import { counted } from "#shared/kit/words.ts";
import { DOCUMENT_NAMES, JOB_DOCUMENTS } from "#shared/protocol/documents.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import { call, seg } from "../../lib/http.ts";
import { jobHref } from "../../lib/links.ts";
import { useChange } from "../../lib/query.ts";
import { ConfirmButton } from "../../parts/confirm.tsx";
import { Copy } from "../../parts/copy.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Ago } from "../../parts/text.tsx";
import { ReplayButton } from "../replay/replay-button.tsx";
import { optionsAgain, submitAgain } from "./again.ts";
import { SmallPicture } from "./pictures.tsx";
import { JobDuration, JobState } from "./state.tsx";

const CRUMBS = [{ title: "Captures", href: "/ui/captures" }];
const RERUN = {
  fetch: "Run again",
  rerun: "Run the script again",
  "codegen-loop": "Run its script again",
};

/** What the job is, and everything that can be done to it. */
export function JobHead({ job }: { job: Job }) {
  const [, navigate] = useLocation();
  const ended = job.finished_at !== null;
  const cancel = useChange(() => call("POST /jobs/{id}/cancel", { params: { id: job.job_id } }), {
    done: "The job is cancelled",
    failed: "The job was not cancelled",
  });
  const remove = useChange(() => call("DELETE /jobs/{id}", { params: { id: job.job_id } }), {
    done: "The job is deleted",
    failed: "The job was not deleted",
    onDone: () => navigate("/ui/captures"),
  });
  const rerun = useChange(() => submitAgain(job.url, optionsAgain(job)), {
    done: "A new job is submitted",
    failed: "The job was not run again",
    onDone: (job_id) => navigate(jobHref(job_id)),
  });
  const picture = useChange(
    () =>
      call("POST /jobs/{id}/screenshot/capture", {
        params: { id: job.job_id },
        json: { format: "png" },
        timeout_ms: 60_000,
      }),
    {
      done: ({ name }) => `The screenshot is stored as ${name}`,
      failed: "No screenshot was taken",
    },
  );
  const scripted = job.mode !== "fetch" && job.attempts > 0;
  return (
    <PageHead
      title={job.title || job.url}
      crumbs={CRUMBS}
      icon={
        job.favicon_href !== null && (
          <SmallPicture className="job-icon large" src={job.favicon_href} />
        )
      }
      badges={
        <>
          <JobState job={job} />
          <Badge variant="default" className="status">
            {job.mode}
          </Badge>
        </>
      }
      note={<HeadNote job={job} />}
    >
      {job.status === "running" && job.session_id && (
        <Button
          variant="default"
          leftSection={<IconCamera size={16} />}
          loading={picture.isPending}
          onClick={() => picture.mutate(undefined)}
        >
          Take a screenshot
        </Button>
      )}
      {!ended && (
        <ConfirmButton
          question="Cancel this job?"
          text="Its browser is stopped. What it has stored so far is kept."
          confirm="Cancel the job"
          loading={cancel.isPending}
          onConfirm={() => cancel.mutate(undefined)}
        >
          Cancel
        </ConfirmButton>
      )}
      {job.status === "completed" && <ReplayButton job={job} />}
      {ended && (
        <Button
          leftSection={<IconRefresh size={16} />}
          loading={rerun.isPending}
          onClick={() => rerun.mutate(undefined)}
        >
          {scripted ? RERUN[job.mode] : RERUN.fetch}
        </Button>
      )}
      <Button
        component={Link}
        href={`/ui/captures/new?from=${seg(job.job_id)}`}
        variant="default"
        leftSection={<IconPencil size={16} />}
      >
        Edit and submit again
      </Button>
      <Downloads job={job} />
      <ConfirmButton
        question="Delete this job?"
        text={`Its record, its log and its ${counted(job.asset_count, "file")} are gone for good.${ended ? "" : " It is cancelled first."}`}
        confirm="Delete the job"
        color="red"
        variant="light"
        loading={remove.isPending}
        onConfirm={() => remove.mutate(undefined)}
      >
        Delete
      </ConfirmButton>
    </PageHead>
  );
}

function HeadNote({ job }: { job: Job }) {
  return (
    <>
      <span className="job-address">
        <Text component="span" ff="monospace" size="sm" className="wrap">
          {job.url}
        </Text>
        <Copy text={job.url} label="Copy the address" />
      </span>
      <div>
        Submitted <Ago at={job.created_at} />
        {job.started_at && (
          <>
            {" · "}
            {job.finished_at ? "ran" : "running for"} <JobDuration job={job} />
          </>
        )}
        {" · "}
        <Text component="span" ff="monospace" size="sm">
          {job.job_id}
        </Text>
      </div>
    </>
  );
}

function Downloads({ job }: { job: Job }) {
  const of = { params: { id: job.job_id } };
  const names = DOCUMENT_NAMES.filter((name) => name !== "trace.zip" || job.options.trace);
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button
          variant="default"
          leftSection={<IconDownload size={16} />}
          rightSection={<IconChevronDown size={14} />}
        >
          Download
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {names.map((name) => (
          <Menu.Item
            key={name}
            component="a"
            href={pathOf(`GET /jobs/{id}/${name}`, of)}
            download={`${job.job_id}-${name}`}
          >
            {name}
            <Text size="xs" c="dimmed">
              {JOB_DOCUMENTS[name].label}
            </Text>
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
