CREATE TABLE "attempts" (
	"job_id" text NOT NULL,
	"n" integer NOT NULL,
	"state" text NOT NULL,
	"engine" text,
	"prompt" text,
	"reply" text,
	"script" text,
	"stdout" text NOT NULL,
	"stderr" text NOT NULL,
	"result" jsonb,
	"error" jsonb,
	"exit_code" integer,
	"verdict" jsonb,
	"timings" jsonb NOT NULL,
	"tokens" jsonb,
	"sandbox" text,
	"screenshot" text,
	"evidence" jsonb NOT NULL,
	"started_at" bigint NOT NULL,
	"finished_at" bigint,
	CONSTRAINT "attempts_job_id_n_pk" PRIMARY KEY("job_id","n")
);
--> statement-breakpoint
CREATE TABLE "conventions" (
	"slug" text PRIMARY KEY NOT NULL,
	"title" text NOT NULL,
	"text" text NOT NULL,
	"enabled" boolean NOT NULL,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "engines" (
	"slug" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"kind" text NOT NULL,
	"protocol" text NOT NULL,
	"endpoint" text NOT NULL,
	"model" text NOT NULL,
	"timeout_s" double precision NOT NULL,
	"supports_tools" boolean NOT NULL,
	"use_for_codegen" boolean NOT NULL,
	"api_key_env" text,
	"notes" text NOT NULL,
	"promoted" boolean NOT NULL,
	"updated_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "presets" (
	"slug" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"description" text NOT NULL,
	"options" jsonb NOT NULL,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "skills" (
	"slug" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"description" text NOT NULL,
	"host_pattern" text NOT NULL,
	"code" text NOT NULL,
	"tags" jsonb NOT NULL,
	"created_by" text NOT NULL,
	"created_from_job" text,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL
);
--> statement-breakpoint
ALTER TABLE "attempts" ADD CONSTRAINT "attempts_job_id_jobs_job_id_fk" FOREIGN KEY ("job_id") REFERENCES "public"."jobs"("job_id") ON DELETE cascade ON UPDATE no action;