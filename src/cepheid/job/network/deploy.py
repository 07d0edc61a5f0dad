"""The jobs of the sites of a plan, in a folder: ``cepheid network deploy`` writes it, each site reads its own file."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from cepheid.connectors.writing import write_text
from cepheid.errors import JobError, QueryError
from cepheid.job.load import invalid, not_toml
from cepheid.job.model import QuerySection
from cepheid.job.network.load import NetworkJob, load_network
from cepheid.job.network.plan_file import read_plan, write_plan
from cepheid.job.network.sites import programs
from cepheid.job.section import Name, Section
from cepheid.language.printer import print_query
from cepheid.network.graph import InevGraph
from cepheid.network.planner import Plan
from cepheid.spark.sites.program import SiteProgram

NETWORK, PLAN = "network.json", "plan.json"


class SiteFile(Section):
    """The job of a site.

    Attributes:
        site: its name.
        network, plan: the files of the network and its plan, relative to this one.
        servers: of the broker; ``${NAME}`` is an environment variable.
        checkpoint: the folder of this site alone, relative to this file.
        trigger: how often it looks at what has come.
        reads, writes: its topics, for who makes them; the plan decides.
    """

    site: Name
    network: Name
    plan: Name
    servers: Name
    checkpoint: Name
    trigger: Name
    reads: list[Name]
    writes: list[Name]


@dataclass(frozen=True, eq=False)
class SiteJob:
    """The job of a site, read.

    Attributes:
        file: what its file says.
        job: the network.
        program: what the site does.
        base: the folder of the file.
        origin: its name.
    """

    file: SiteFile
    job: NetworkJob
    program: SiteProgram
    base: Path
    origin: str


def deploy(job: NetworkJob, plan: Plan, folder: Path) -> list[Path]:
    """Write the network, the plan and a job for each site.

    Args:
        job: the network.
        plan: of it.
        folder: is made if needed; checkpoints in it are refused, and the jobs of sites that another plan had are
            removed.

    Returns:
        The files of the sites.

    Raises:
        JobError: the folder holds checkpoints, or the network file.
        SetupError: it cannot be written.
    """
    if (folder / "checkpoints").exists():
        raise JobError(
            f"{folder} holds checkpoints of sites that ran",
            remedy="a new plan needs a new folder, and another name under [network] for its topics",
        )
    queries = {name: QuerySection(text=print_query(query.tree)) for name, query in job.queries.items()}
    said = job.selectivities()
    model = job.model.model_copy(
        update={
            "queries": queries,
            "network": job.model.network.model_copy(update={"statistics": None}),
            "types": job.types(),
        }
    )
    sites = programs(job, plan.graph)
    jobs = {name: folder / f"{name}.toml" for name in sites}
    job.require_others([folder / NETWORK, folder / PLAN, *jobs.values()])
    for name in _sites_before(folder):
        if name not in jobs:
            (folder / f"{name}.toml").unlink(missing_ok=True)
    whole = model.model_dump(mode="json", exclude_none=True)
    whole["selectivities"] = [{"types": sorted(kinds), "value": value} for kinds, value in said.pairs.items()]
    whole["in_matches"] = [
        {"projection": name, "type": kind, "value": value} for (name, kind), value in said.single.items()
    ]
    write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", folder / NETWORK)
    write_plan(job, plan, folder / PLAN)
    for name, program in sites.items():
        write_text(_site_text(job, program), jobs[name])
    return list(jobs.values())


def _sites_before(folder: Path) -> list[str]:
    """The sites of the network that was deployed into a folder before."""
    if not (folder / NETWORK).is_file():
        return []
    try:
        return load_network(folder / NETWORK).model.network.sites
    except (JobError, QueryError):
        return []  # no network of this version: its files are left alone


def _site_text(job: NetworkJob, program: SiteProgram) -> str:
    topics = program.topics
    writes = [*topics.to_links.values()]
    for stage in program.stages:
        writes += [topics.matches[one.name] for one in stage.evaluations if one.name]
        writes += [topics.progress] if topics.progress not in writes else []
    if topics.source is not None:
        writes.append(topics.rejected)
    n_engines = sum(len(stage.evaluations) for stage in program.stages)
    lines = [
        f"# The streaming job of the site {program.site}: types that arise there {len(program.sources)}, "
        f"engines that join {n_engines}.",
        f"# cepheid network site {program.site}.toml",
        f"site = {_text(program.site)}",
        f"network = {_text(NETWORK)}",
        f"plan = {_text(PLAN)}",
        f"servers = {_text(job.model.deploy.servers)}",
        f"checkpoint = {_text(f'checkpoints/{program.site}')}",
        f"trigger = {_text(job.model.deploy.trigger)}",
        f"reads = [{', '.join(map(_text, topics.read))}]",
        f"writes = [{', '.join(map(_text, dict.fromkeys(writes)))}]",
    ]
    return "\n".join(lines) + "\n"


def _text(value: str) -> str:
    """A text as TOML writes it: as JSON does."""
    return json.dumps(value, ensure_ascii=False)


def load_site(path: Path) -> SiteJob:
    """The job of a site.

    Raises:
        JobError: it cannot be read, or there is no such site in the network.
    """
    origin = str(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
        said = tomllib.loads(text)
    except OSError as error:
        raise JobError(
            f"the job of the site cannot be read: {error.strerror or error}", remedy="correct the path", origin=origin
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise not_toml(error, text, origin) from error
    try:
        file = SiteFile.model_validate(said)
    except ValidationError as error:
        raise invalid(error, text, origin, root=SiteFile, examples={}) from None
    base = path.resolve().parent
    job, graph = load_deployed(base, file.network, file.plan)
    program = programs(job, graph).get(file.site)
    if program is None:
        known = ", ".join(job.model.network.sites)
        raise JobError(f"the network has no site {file.site}", remedy=f"its sites are {known}", origin=origin)
    return SiteJob(file, job, program, base, origin)


def load_deployed(folder: Path, network: str = NETWORK, plan: str = PLAN) -> tuple[NetworkJob, InevGraph]:
    """The network and the plan of a folder that `deploy` wrote."""
    job = load_network(folder / network)
    return job, read_plan(job, folder / plan)
