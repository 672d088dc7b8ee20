/** Tells the other control processes; lost messages are made up for by the sweeper and the look at the workers. */
export interface Wakes {
  ready(workload_id: number, n: number): void;
  freed(workload_id: number, places: number): void;
  workloads(): void;
  worker(worker_id: string): void;
}
