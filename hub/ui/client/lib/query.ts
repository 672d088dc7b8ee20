import { notifications } from "@mantine/notifications";
import {
  keepPreviousData,
  QueryClient,
  type UseQueryOptions,
  type UseQueryResult,
  useMutation,
  usePrefetchQuery,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { ApiError, call, type Query } from "./http.ts";
import { isLive } from "./live.ts";

/** How often what is shown is read again: seldom while the stream of changes tells what to read. */
const EVERY_MS = { live: 15_000, alone: 3_000 };

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 1_000,
      refetchInterval: () => (isLive() ? EVERY_MS.live : EVERY_MS.alone),
      refetchOnWindowFocus: true,
      // Only errors that may go away on the next try.
      retry: (failures, err) =>
        failures < 2 && err instanceof ApiError && (err.status === 0 || err.status >= 502),
      retryDelay: (n) => 500 * 2 ** n,
    },
  },
});

/** What changes it: the first part of a path, `v1/` before those of the control plane (hub/platform/changes.ts). */
function topicOf(path: string): string {
  const [, prefix, resource = ""] = /^\/(api\/v1\/)?([a-z-]*)/.exec(path) ?? [];
  return `${prefix === undefined ? "" : "v1/"}${resource}`;
}

type Options<T> = Partial<
  Pick<UseQueryOptions<T>, "enabled" | "refetchInterval" | "staleTime" | "gcTime" | "retry">
>;

export const getKey = (path: string, query: Query = {}) => [topicOf(path), path, query] as const;

/** Reads a resource and reads it again when it changes. The page before stays shown while the next one comes. */
export const useGet = <T>(
  path: string,
  query: Query = {},
  options: Options<T> = {},
): UseQueryResult<T> =>
  useQuery<T>({
    queryKey: getKey(path, query),
    queryFn: ({ signal }) => call<T>("GET", path, { query, signal }),
    placeholderData: keepPreviousData as never,
    ...options,
  });

/** Reads a resource before the part of the page that shows it is there. */
export const useAhead = (path: string, query: Query = {}): void =>
  usePrefetchQuery({
    queryKey: getKey(path, query),
    queryFn: ({ signal }) => call("GET", path, { query, signal }),
  });

export const errorText = (err: unknown): string =>
  err instanceof Error ? err.message : String(err);

export function tellError(title: string, err: unknown): void {
  notifications.show({ color: "red", title, message: errorText(err), autoClose: 10_000 });
}

export function tellDone(message: string): void {
  notifications.show({ color: "teal", message, autoClose: 4_000 });
}

export interface ChangeOptions<In, Out> {
  /** The message after a success; without it there is none. */
  done?: string | ((out: Out, input: In) => string);
  /** Title of the message when it did not: "The job was not cancelled". */
  failed: string;
  /** Topics to read again besides everything on this page. */
  onDone?: (out: Out, input: In) => unknown;
  /** The form shows the error itself. */
  quiet?: boolean;
}

/** A call that changes something: what is shown is read again after it, and a failure says what did not happen. */
export function useChange<In, Out>(
  change: (input: In) => Promise<Out>,
  { done, failed, onDone, quiet }: ChangeOptions<In, Out>,
) {
  const client = useQueryClient();
  return useMutation<Out, Error, In>({
    mutationFn: change,
    onSuccess: async (out, input) => {
      if (done !== undefined) tellDone(typeof done === "string" ? done : done(out, input));
      await onDone?.(out, input);
      void client.invalidateQueries();
    },
    onError: (err) => {
      if (!quiet) tellError(failed, err);
      // What is shown may be out of date.
      void client.invalidateQueries();
    },
  });
}
