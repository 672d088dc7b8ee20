import { beforeEach, describe, expect, test } from "bun:test";
import { QueryClient } from "@tanstack/react-query";
import { keepAnswer } from "#hub/ui/client/lib/answers.ts";
import { getKey } from "#hub/ui/client/lib/query-key.ts";

/** What a change answered is shown at once (rules/web-app#pages-follow-changes). */

const SLUG = { params: { slug: "a b" } };
const ENABLE = "PATCH /api/v1/workloads/{slug}/enabled";
const one = getKey("/api/v1/workloads/{slug}", SLUG);
const list = getKey("/api/v1/workloads", { query: { limit: 2 } });
const workload = (slug: string, enabled: boolean) => ({ slug, enabled });

let client: QueryClient;
beforeEach(() => {
  client = new QueryClient({ defaultOptions: { queries: { retry: false, gcTime: 0 } } });
});

test("a key begins with the topic of its changes, and has the whole address", () => {
  expect(one).toEqual(["v1/workloads", "/api/v1/workloads/a%20b"]);
  expect(list).toEqual(["v1/workloads", "/api/v1/workloads?limit=2"]);
  expect(getKey("/jobs/{id}", { params: { id: 7 } })).toEqual(["jobs", "/jobs/7"]);
  expect(getKey("/settings")).toEqual(["settings", "/settings"]);
});

describe("the answer of a change", () => {
  test("is what is shown of the resource and in each list of it, and leaves the others alone", () => {
    client.setQueryData(one, workload("a b", true));
    const others = [workload("x", true), workload("y", false)];
    client.setQueryData(list, { workloads: [others[0], workload("a b", true)], next_cursor: "2" });
    const elsewhere = getKey("/api/v1/workloads", { query: { limit: 1 } });
    client.setQueryData(elsewhere, { workloads: [others[1]] });
    const before = client.getQueryData(elsewhere);

    keepAnswer(client, ENABLE, SLUG, workload("a b", false));

    expect(client.getQueryData<object>(one)).toEqual(workload("a b", false));
    expect(client.getQueryData<object>(list)).toEqual({
      workloads: [others[0], workload("a b", false)],
      next_cursor: "2",
    });
    // The same object: nothing that shows it is drawn again.
    expect(client.getQueryData(elsewhere)).toBe(before);
  });

  test("is not kept where nobody reads it, nor where it is no such resource", () => {
    keepAnswer(client, ENABLE, SLUG, workload("a b", false));
    expect(client.getQueryCache().getAll()).toEqual([]);
    client.setQueryData(one, workload("a b", true));
    keepAnswer(client, "DELETE /api/v1/workloads/{slug}", SLUG, workload("a b", false));
    keepAnswer(client, ENABLE, SLUG, null);
    expect(client.getQueryData<object>(one)).toEqual(workload("a b", true));
  });

  test("outlives a read that began before the change", async () => {
    client.setQueryData(one, workload("a b", true));
    const slow = Promise.withResolvers<object>();
    const read = client
      .fetchQuery({ queryKey: one, queryFn: () => slow.promise, staleTime: 0 })
      .catch(() => {});
    keepAnswer(client, ENABLE, SLUG, workload("a b", false));
    slow.resolve(workload("a b", true));
    await read;
    expect(client.getQueryData<object>(one)).toEqual(workload("a b", false));
    expect(client.getQueryState(one)?.fetchStatus).toBe("idle");
  });

  test("of settings, which are no list, is what is shown of them", () => {
    const key = getKey("/settings");
    client.setQueryData(key, { settings: { title: "a" } });
    keepAnswer(client, "PATCH /settings", undefined, { settings: { title: "b" } });
    expect(client.getQueryData<object>(key)).toEqual({ settings: { title: "b" } });
  });
});
