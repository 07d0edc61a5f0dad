"""The first matches, in their order, of queries whose matches share their structure.

For an event that ends matches, what partial matches share is laid out from the end of its window to the beginning: for
each state the list of the events with which a match can go on, each with the list of the state after it. Nothing in the
lists is in vain, so a match costs what tells it from the one before.
"""

from __future__ import annotations

from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import DONE, OUTPUT_FULL, POOL_FULL, Halves, Ints
from cepheid.kernels.shared import (
    C_MOVES_FROM,
    C_MOVES_TO,
    CLASS_WIDTH,
    F_DEPTH,
    F_ENTRIES,
    F_EVENT,
    F_MATCHES,
    FIRST_HEADER,
    L_DOWN,
    L_EVENT,
    L_NEXT,
    L_VARIABLE,
    LINK_WIDTH,
    M_PASSED,
    M_STATE,
    M_STEPS_FROM,
    M_STEPS_TO,
    MOVE_WIDTH,
    NO_LINK,
    P_N_STATES,
    PLAN_HEADER,
    S_COMPLETE,
    S_TARGET,
    S_VARIABLE,
    STEP_WIDTH,
    THE_END,
)


@kernel()
def _lay_out(
    plan: Ints, classes: Halves, clock: Ints, last: int, begin: int, oldest: int, work: Ints, links: Ints
) -> bool:
    """Lay out the matches that end with the event ``last``; false where there is no room in ``links``.

    Args:
        begin: where its partition begins.
        oldest: the least clock of a first event.
    """
    n = plan[P_N_STATES]
    heads, before = FIRST_HEADER, FIRST_HEADER + n
    for state in range(n):
        work[heads + state] = NO_LINK
    made = 0
    event = last
    while event >= begin and clock[event] >= oldest:
        place = PLAN_HEADER + int(classes[event]) * CLASS_WIDTH
        for state in range(n):
            work[before + state] = work[heads + state]
        move = plan[place + C_MOVES_FROM]
        while move < plan[place + C_MOVES_TO]:
            passed = plan[move + M_PASSED]
            head = NO_LINK
            if passed >= 0:
                head = work[before + passed]
            step = plan[move + M_STEPS_FROM]
            while step < plan[move + M_STEPS_TO]:
                down = NO_LINK
                if event == last:
                    if plan[step + S_COMPLETE] == 1:
                        down = THE_END
                elif plan[step + S_TARGET] >= 0:
                    down = work[before + plan[step + S_TARGET]]
                if down != NO_LINK:
                    if made + LINK_WIDTH > len(links):
                        return False
                    links[made + L_EVENT] = event
                    links[made + L_VARIABLE] = plan[step + S_VARIABLE]
                    links[made + L_NEXT] = head
                    links[made + L_DOWN] = down
                    head = made
                    made += LINK_WIDTH
                step += STEP_WIDTH
            work[heads + plan[move + M_STATE]] = head
            move += MOVE_WIDTH
        event -= 1
    return True


@kernel(entry=True)
def shared_first(
    plan: Ints,
    classes: Halves,
    clock: Ints,
    order: Ints,
    partitions: Ints,
    starts: Ints,
    within: int,
    most: int,
    latest: Ints,
    work: Ints,
    links: Ints,
    events: Ints,
    variables: Ints,
    ends: Ints,
) -> int:
    """Step over the rest of the events, until there are so many matches.

    Args:
        plan: as `shared` says; no event of a class has two steps from one state.
        classes, clock: of the events, those of each partition side by side, there by their time or place.
        order: the events in their order.
        partitions: of each event.
        starts: where each partition begins.
        within: longest distance from the first event; -1 for none.
        most: how many matches are asked for.
        latest: for each partition and state the latest first event of the partial matches there; -1 for none.
        work: what the kernel keeps, as `shared` says.
        links: the lists.
        events, variables: get the events of the matches, and their variables.
        ends: gets where each match ends there.

    Returns:
        DONE; or POOL_FULL: give larger ``links``; OUTPUT_FULL: give larger ``events`` and ``variables``.
    """
    n = plan[P_N_STATES]
    heads, before = FIRST_HEADER, FIRST_HEADER + n
    path = before + n
    rank, depth, found, entries = work[F_EVENT], work[F_DEPTH], work[F_MATCHES], work[F_ENTRIES]
    code = DONE
    while rank < len(order) and found < most:
        i = order[rank]
        place = PLAN_HEADER + int(classes[i]) * CLASS_WIDTH
        first, last = plan[place + C_MOVES_FROM], plan[place + C_MOVES_TO]
        row = partitions[i] * n
        if depth < 0:
            oldest = clock[starts[partitions[i]]]
            if within >= 0:
                oldest = max(oldest, clock[i] - within)
            completes = False
            move = first
            while move < last:
                state = plan[move + M_STATE]
                start = i
                if state > 0:
                    start = latest[row + state]
                if start >= 0 and clock[start] >= oldest:
                    step = plan[move + M_STEPS_FROM]
                    while step < plan[move + M_STEPS_TO]:
                        completes |= plan[step + S_COMPLETE] == 1
                        step += STEP_WIDTH
                move += MOVE_WIDTH
            if completes:
                if not _lay_out(plan, classes, clock, i, starts[partitions[i]], oldest, work, links):
                    code = POOL_FULL
                    break
                depth = 0
                work[path] = work[heads]
        while depth >= 0 and found < most:
            link = work[path + depth]
            if link == NO_LINK:
                depth -= 1
                if depth >= 0:
                    work[path + depth] = links[work[path + depth] + L_NEXT]
            elif links[link + L_DOWN] != THE_END:
                depth += 1
                work[path + depth] = links[link + L_DOWN]
            else:
                if entries + depth + 1 > len(events):
                    code = OUTPUT_FULL
                    break
                for level in range(depth + 1):
                    taken = work[path + level]
                    events[entries] = links[taken + L_EVENT]
                    variables[entries] = links[taken + L_VARIABLE]
                    entries += 1
                ends[found] = entries
                found += 1
                work[path + depth] = links[link + L_NEXT]
        if code != DONE or found == most:
            break
        for state in range(n):
            work[before + state] = latest[row + state]
        move = first
        while move < last:
            state = plan[move + M_STATE]
            if plan[move + M_PASSED] != state:
                latest[row + state] = -1
            move += MOVE_WIDTH
        move = first
        while move < last:
            state, passed = plan[move + M_STATE], plan[move + M_PASSED]
            start = i
            if state > 0:
                start = work[before + state]
            if passed >= 0 and passed != state:
                latest[row + passed] = max(latest[row + passed], start)
            step = plan[move + M_STEPS_FROM]
            while step < plan[move + M_STEPS_TO]:
                target = plan[step + S_TARGET]
                if target >= 0:
                    latest[row + target] = max(latest[row + target], start)
                step += STEP_WIDTH
            move += MOVE_WIDTH
        rank += 1
    work[F_EVENT], work[F_DEPTH], work[F_MATCHES], work[F_ENTRIES] = rank, depth, found, entries
    return code
