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
import type { ReactNode } from "react";
import { FlotillaError } from "#shared/client/errors.ts";
import type { AnswerOf, Args, JsonOperation } from "#shared/client/operation.ts";
import { keepAnswer } from "./answers.ts";
import { offlineSince, subscribeConnection } from "./connection.ts";
import { call, type Read, subscribeAnswers } from "./http.ts";
import { isLive } from "./live.ts";
import { getKey, type JsonPath } from "./query-key.ts";

/** How often shown data is read again: seldom while the stream of changes says what to read. */
export const EVERY_MS = { live: 15_000, alone: 3_000 };

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // A browser that knows of no network still reaches a server of its own machine.
      networkMode: "always",
      staleTime: 1_000,
      refetchInterval: () => (isLive() ? EVERY_MS.live : EVERY_MS.alone),
      refetchOnWindowFocus: true,
      // Only errors that may go away on the next try.
      retry: (failures, err) =>
        failures < 2 && err instanceof FlotillaError && (err.status === 0 || err.status >= 502),
      retryDelay: (n) => 500 * 2 ** n,
    },
    mutations: { networkMode: "always" },
  },
});

// What was missed while the server could not be reached.
subscribeConnection(() => {
  if (offlineSince() === null) void queryClient.invalidateQueries();
});

subscribeAnswers((operation, given, answer) => keepAnswer(queryClient, operation, given, answer));

type Options<T> = Partial<
  Pick<UseQueryOptions<T>, "enabled" | "refetchInterval" | "staleTime" | "gcTime" | "retry">
>;

/** How something is read, and under which key. */
const reading = <P extends JsonPath>(path: P, given: object | undefined) => ({
  queryKey: getKey(path, ...([given] as Args<never>)),
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    call(`GET ${path}` as JsonOperation, { ...given, signal } as never) as Promise<
      AnswerOf<`GET ${P}`>
    >,
});

type Reading<G, O> =
  Record<never, never> extends G ? [given?: G, options?: O] : [given: G, options?: O];

/** Reads a resource and reads it again when it changes. The page before stays shown while the next one comes. */
export const useGet = <P extends JsonPath>(
  path: P,
  ...[given, options]: Reading<Read<`GET ${P}`>, Options<AnswerOf<`GET ${P}`>>>
): UseQueryResult<AnswerOf<`GET ${P}`>> =>
  useQuery<AnswerOf<`GET ${P}`>>({
    ...reading(path, given),
    placeholderData: keepPreviousData as never,
    ...options,
  });

/** Reads a resource before the part of the page that shows it is there. */
export const useAhead = <P extends JsonPath>(path: P, ...given: Args<Read<`GET ${P}`>>): void =>
  usePrefetchQuery(reading(path, given[0]));

/** The text of an error for a person. */
export function errorText(err: unknown): string {
  if (err instanceof FlotillaError && err.status === 0)
    // Which is what browsers say when there is no connection.
    return err.cause instanceof TypeError ? "the server cannot be reached" : "no answer in time";
  return err instanceof Error ? err.message : String(err);
}

export function tellError(title: string, err: unknown): void {
  notifications.show({ color: "red", title, message: errorText(err), autoClose: 10_000 });
}

/** @param autoClose longer where there is something to choose in it */
export function tellDone(message: ReactNode, autoClose = 4_000): void {
  notifications.show({ color: "teal", message, autoClose });
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
