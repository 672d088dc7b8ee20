import { Anchor } from "@mantine/core";
import { Link } from "wouter";
import type { Job } from "#shared/protocol/schema/job.ts";
import { labelsWritten } from "../forms/labels.ts";
import { useParams } from "../lib/filters.ts";
import { jobHref } from "../lib/links.ts";
import { useGet } from "../lib/query.ts";
import { PageHead } from "../parts/page-head.tsx";
import { Loadable } from "../parts/states.tsx";
import { givenOf, optionsOfAddress } from "./options/values.ts";
import type { Draft } from "./submit/body.ts";
import { SubmitForm } from "./submit/submit-form.tsx";

/** What the form begins with: an earlier job, and over it what the address says. */
function startOf(params: URLSearchParams, job: Job | undefined): Draft {
  return {
    url: params.get("url") ?? job?.url ?? "",
    preset: params.get("preset"),
    given: { ...(job && givenOf(job.options)), ...optionsOfAddress(params) },
    labels: labelsWritten(params, job?.labels),
  };
}

/**
 * A job by hand. The address fills the form: `?url=…&preset=…`, `label=team:growth`, any option by its name, and
 * `from=<job_id>` for the options and the labels of an earlier job.
 */
export function Page() {
  const params = useParams();
  const from = params.get("from");
  const presets = useGet("/presets");
  const job = useGet("/jobs/{id}", { params: { id: from ?? "" } }, { enabled: from !== null });
  const form = (earlier?: Job) => (
    <Loadable query={presets}>
      {(list) => (
        <SubmitForm
          key={params.toString()}
          start={startOf(params, earlier)}
          presets={list.presets}
        />
      )}
    </Loadable>
  );
  return (
    <>
      <PageHead
        title="New capture"
        note={
          from !== null && (
            <>
              As{" "}
              <Anchor component={Link} href={jobHref(from)} inherit>
                job {from}
              </Anchor>{" "}
              was submitted.
            </>
          )
        }
      />
      {from === null ? form() : <Loadable query={job}>{form}</Loadable>}
    </>
  );
}
