/** The SQL of statistics. `$1` and `$2` are the window, of which the end is exclusive. */

/** Hours that overlap the window. */
const HOURS = "hour > $1::timestamptz - interval '1 hour' and hour < $2::timestamptz";
/** As a float, because hosts may change how `pg` parses times and large numbers. */
const HOUR_MS = "(extract(epoch from hour) * 1000)::float8 as hour_ms";

const OF_FLAG = "flag_id = $3";
const OF_FLAGS = "flag_id = any($3::text[])";
const OF_TENANT = "($3::text is null or tenant = $3)";

export const EVALUATIONS: string = `select ${HOUR_MS}, reason, sum(count) as count
from halyard_flag_evaluation_hour where ${OF_FLAG} and ${HOURS} group by hour, reason`;

/** The id of the flag's unit for a row that lacks it, by the link that a sign-in has made. */
function linkedId(row: string, unit: string): string {
  return `case ${unit}
    when 'userId' then (select link.user_id from halyard_flag_link link where link.anonymous_id = ${row}.anonymous_id)
    when 'anonymousId' then (
      select link.anonymous_id from halyard_flag_link link where link.user_id = ${row}.user_id
      order by link.at, link.anonymous_id limit 1
    )
  end`;
}

/** Exposures in the window. A window within one hour also has those from before it to after it. */
const IN_WINDOW = `${HOURS} and last_at >= $1::timestamptz and first_at < $2::timestamptz`;

/** The user that an exposure is counted for. All visitors without an id count as one. */
const userOf = (row: string, unit: string) =>
  `coalesce(
    nullif(${row}.subject, ''), case when ${row}.subject is null then ${linkedId(row, unit)} end,
    ${row}.user_id, ${row}.anonymous_id, ''
  )`;

/** `$5` is the environment, or null for all. */
const IN_ENVIRONMENT = "($5::text is null or environment = $5)";

/** `$3` is the flag, `$4` its unit. */
const EXPOSED = `exposed as (
  select
    ${userOf("shown", "$4::text")} as who, arm, by_chance, (hour at time zone 'UTC')::date as day
  from halyard_flag_exposure shown where ${OF_FLAG} and ${IN_WINDOW} and ${IN_ENVIRONMENT}
)`;

/** The row with a null arm is the total of all arms. */
export const EXPOSURES: string = `with ${EXPOSED}
select arm, by_chance, count(distinct (who, day))::float8 as exposures, count(distinct who)::float8 as users
from exposed group by grouping sets ((arm, by_chance), ())`;

/** Events are received up to 48 hours after their time. */
export const EVENTS: string = `with happened as (
  select
    environment, event, value, greatest(sample_rate, 1e-9) as rate,
    nullif(coalesce(sent.subject, ${linkedId("sent", "$4::text")}), '') as who
  from halyard_flag_event sent
  where ${OF_FLAG} and ${IN_ENVIRONMENT} and at >= $1::timestamptz and at < $2::timestamptz
    and received_at >= $1::timestamptz - interval '1 hour' and received_at < $2::timestamptz + interval '49 hours'
)
select
  coalesce(arm, '') as arm, coalesce(by_chance, true) as by_chance, event,
  sum(1 / rate) as count,
  coalesce(sum((least(greatest(value, -1e15), 1e15) / rate)::numeric) filter (where value is not null), 0)::float8 as sum,
  coalesce(sum(1 / rate) filter (where value is not null), 0) as valued,
  count(distinct happened.who)::float8 as converters
from happened left join halyard_flag_subject first
  on first.flag_id = $3 and first.environment = happened.environment and first.subject = happened.who
group by 1, 2, 3`;

export const EVALUATIONS_OF_MANY: string = `select flag_id, sum(count) as evaluations
from halyard_flag_evaluation_hour where ${OF_FLAGS} and ${HOURS} group by flag_id`;

export const HOURLY_EVALUATIONS: string = `select flag_id, ${HOUR_MS}, sum(count) as count
from halyard_flag_evaluation_hour where tenant = $3 and flag_id = any($4::text[]) and ${HOURS} group by flag_id, hour`;

/** `$4` has the units of the flags. */
export const USERS_OF_MANY: string = `select shown.flag_id, count(distinct ${userOf("shown", "flag.unit")})::float8 as users
from unnest($3::text[], $4::text[]) as flag (id, unit)
join halyard_flag_exposure shown on shown.flag_id = flag.id
where ${IN_WINDOW} group by shown.flag_id`;

export const USAGE_BY_FLAG: string = `select flag_id, sum(count) as evaluations
from halyard_flag_evaluation_hour where ${OF_TENANT} and ${HOURS} group by flag_id`;

export const USAGE_BY_HOUR: string = `select ${HOUR_MS}, sum(count) as evaluations
from halyard_flag_evaluation_hour where ${OF_TENANT} and ${HOURS} group by hour`;

export const ACTIVITY: string = `select ${HOUR_MS}, reason, sum(count) as count
from halyard_flag_evaluation_hour where ${OF_TENANT} and ${HOURS} group by hour, reason`;

export const ARM_ACTIVITY: string = `select ${HOUR_MS}, arm, count(*)::float8 as count
from halyard_flag_exposure where ${OF_FLAG} and ${IN_WINDOW} group by hour, arm`;

export const USAGE_EVENTS: string = `select coalesce(sum(count), 0) as events
from halyard_flag_event_hour where ${OF_TENANT} and ${HOURS}`;
