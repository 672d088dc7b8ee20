CREATE TABLE "workload_versions" (
	"workload_id" bigint NOT NULL,
	"version" integer NOT NULL,
	"executor_type" text NOT NULL,
	"code" text NOT NULL,
	"sha256" text NOT NULL,
	"bytes" integer NOT NULL,
	"note" text NOT NULL,
	"created_by" text NOT NULL,
	"restored_from" integer,
	"created_at" bigint NOT NULL,
	CONSTRAINT "workload_versions_workload_id_version_pk" PRIMARY KEY("workload_id","version")
);
--> statement-breakpoint
ALTER TABLE "workloads" ADD COLUMN "code_version" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "workloads" ADD COLUMN "code_sha256" text;