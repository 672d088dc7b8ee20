/** As they are kept in the address. `since` and `until` are ISO 8601 UTC; `page` is the trail of cursors. */
export const NO_FILTERS = {
  words: "",
  label: "",
  q: "",
  status: "",
  result: "",
  mode: "",
  host: "",
  worker: "",
  fingerprint: "",
  since: "",
  until: "",
  page: "",
};
export type JobFilters = typeof NO_FILTERS;

/** As the API calls them, without the place in the list. */
export const queryOf = ({ page: _, worker, ...rest }: JobFilters) => ({
  ...rest,
  worker_id: worker,
});
