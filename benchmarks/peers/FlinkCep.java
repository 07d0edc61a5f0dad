import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.Serializable;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.connector.datagen.source.GeneratorFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;

/**
 * A workload in Flink CEP: FlinkCep EVENTS.csv WORKLOAD keyed|unkeyed N_TIMES.
 *
 * <p>Runs a local job N_TIMES in this JVM, each a line of JSON. The timer starts when the source gives its first event
 * and ends when the operator that finds matches is closed, so neither the start nor the end of the cluster count. CPU time
 * is that of the whole process in between, its compiler and collector included.
 */
public final class FlinkCep {
    public static final class Event {
        public long id;
        public char type;
        public long ts;
        public int key;
        public int v1;
        public double price;

        public Event() {}
    }

    private interface Test extends Serializable {
        boolean holds(Event earlier, Event event);
    }

    private static final OperatingSystemMXBean PROCESS =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    // The job runs in threads of this JVM, at parallelism 1.
    private static Event[] events;
    private static long nMatches, sumOfIds, startNs, startCpuNs, endNs, endCpuNs;

    private static long idsOf(Map<String, List<Event>> match) {
        long sum = 0;
        for (List<Event> part : match.values()) {
            for (Event event : part) {
                sum += event.id;
            }
        }
        return sum;
    }

    private static class Counted extends PatternProcessFunction<Event, Long> {
        @Override
        public void processMatch(Map<String, List<Event>> match, Context context, Collector<Long> out) {
            nMatches++;
            sumOfIds += idsOf(match);
        }

        @Override
        public void close() {
            endNs = System.nanoTime();
            endCpuNs = PROCESS.getProcessCpuTime();
        }
    }

    /** Flink gives every beginning of a loop; of those that end with an event's first C, this keeps the longest. */
    private static final class CountedLongest extends Counted {
        private record Kept(long last, int size, long ids) {}

        private final transient Map<Long, Kept> kept = new HashMap<>();

        private Object readResolve() {
            return new CountedLongest();
        }

        @Override
        public void processMatch(Map<String, List<Event>> match, Context context, Collector<Long> out) {
            long first = match.get("a").get(0).id;
            long last = match.get("c").get(0).id;
            int size = match.get("b").size();
            Kept before = kept.get(first);
            if (before == null) {
                long ids = idsOf(match);
                kept.put(first, new Kept(last, size, ids));
                nMatches++;
                sumOfIds += ids;
            } else if (before.last == last && before.size < size) {
                long ids = idsOf(match);
                kept.put(first, new Kept(last, size, ids));
                sumOfIds += ids - before.ids;
            }
        }
    }

    private static SimpleCondition<Event> is(char type) {
        return SimpleCondition.of(event -> event.type == type);
    }

    private static IterativeCondition<Event> is(char type, String variable, Test test) {
        return new IterativeCondition<>() {
            @Override
            public boolean filter(Event event, Context<Event> context) throws Exception {
                return event.type == type
                        && test.holds(context.getEventsForPattern(variable).iterator().next(), event);
            }
        };
    }

    private static Pattern<Event, ?> pattern(String workload) {
        Test rises = (earlier, event) -> earlier.v1 < event.v1;
        // Flink's windows are open at their end, and times are whole milliseconds.
        Duration second = Duration.ofMillis(1001);
        Duration twoSeconds = Duration.ofMillis(2001);
        Pattern<Event, Event> a = Pattern.<Event>begin("a", AfterMatchSkipStrategy.noSkip()).where(is('A'));
        switch (workload) {
            case "W0":
                return a.followedByAny("b").where(is('B')).followedByAny("c").where(is('C')).within(second);
            case "W1":
                return a.followedBy("b").where(is('B', "a", rises)).followedBy("c").where(is('C', "b", rises)).within(second);
            case "W2":
            case "W2d":
                return a.followedByAny("b").where(is('B', "a", rises)).followedByAny("c").where(is('C', "b", rises)).within(second);
            case "W3":
                Test dear = (earlier, event) -> earlier.key == event.key && event.price > 0.75 * earlier.price;
                Test sameKey = (earlier, event) -> earlier.key == event.key;
                return a.followedByAny("b").where(is('B', "a", dear)).followedByAny("c").where(is('C', "b", sameKey)).within(twoSeconds);
            case "W4":
                return a.followedBy("b").where(is('B', "a", rises)).oneOrMore().followedBy("c").where(is('C')).within(second);
            case "W5":
                return a.notFollowedBy("b").where(is('B')).followedBy("c").where(is('C')).within(second);
            default:
                throw new IllegalArgumentException(workload);
        }
    }

    private static Event[] read(Path path) throws Exception {
        try (BufferedReader lines = Files.newBufferedReader(path)) {
            return lines.lines().map(line -> {
                String[] fields = line.split(",");
                Event event = new Event();
                event.id = Long.parseLong(fields[0]);
                event.type = fields[1].charAt(0);
                event.ts = Long.parseLong(fields[2]);
                event.key = Integer.parseInt(fields[3]);
                event.v1 = Integer.parseInt(fields[4]);
                event.price = Double.parseDouble(fields[6]);
                return event;
            }).toArray(Event[]::new);
        }
    }

    private static void run(String workload, boolean keyed) throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.setParallelism(1);
        env.getConfig().enableObjectReuse();
        GeneratorFunction<Long, Event> take = i -> {
            if (i == 0) {
                startNs = System.nanoTime();
                startCpuNs = PROCESS.getProcessCpuTime();
            }
            return events[i.intValue()];
        };
        DataStream<Event> stream = env.fromSource(
                new DataGeneratorSource<>(take, events.length, TypeInformation.of(Event.class)),
                WatermarkStrategy.<Event>forMonotonousTimestamps().withTimestampAssigner((event, before) -> event.ts),
                "events");
        DataStream<Event> input = keyed ? stream.keyBy(event -> event.key) : stream;
        Counted counted = workload.equals("W4") ? new CountedLongest() : new Counted();
        CEP.pattern(input, pattern(workload)).process(counted).sinkTo(new DiscardingSink<>());
        env.execute();
    }

    public static void main(String[] args) throws Exception {
        events = read(Path.of(args[0]));
        for (int i = 0; i < Integer.parseInt(args[3]); i++) {
            nMatches = 0;
            sumOfIds = 0;
            run(args[1], args[2].equals("keyed"));
            System.out.printf(
                    "{\"n_matches\": %d, \"sum_of_ids\": %d, \"wall_s\": %.6f, \"cpu_s\": %.6f}%n",
                    nMatches, sumOfIds, (endNs - startNs) / 1e9, (endCpuNs - startCpuNs) / 1e9);
        }
    }
}
