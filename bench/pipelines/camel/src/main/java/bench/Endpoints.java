package bench;

import org.apache.camel.component.jackson.ListJacksonDataFormat;
import org.apache.camel.model.dataformat.CsvDataFormat;

/** Where facts are, and how they are read and written. */
final class Endpoints {
    private final String folder;

    Endpoints(String folder) {
        this.folder = folder;
    }

    /** A file that is read once, at once, and stays where it is. */
    String source(String name) {
        return "file:" + folder + "/data?noop=true&initialDelay=0&fileName=" + name;
    }

    /** A file that a message is written to. */
    String goal(String name) {
        return "file:" + folder + "/out?fileName=" + name;
    }

    /** A file that grows by a line with each message. It stays open: to open it each time takes twice as long. */
    String growing(String name) {
        return "stream:file?fileName=" + folder + "/out/" + name;
    }

    static ListJacksonDataFormat jsonOf(Class<?> type) {
        return new ListJacksonDataFormat(type);
    }

    /** CSV with a line of names: a list of maps. Lists of lists would take ten times as long to write, and more. */
    static CsvDataFormat csvRows() {
        return new CsvDataFormat.Builder().useMaps(true).end();
    }

    /** CSV with these columns of maps. */
    static CsvDataFormat csvWithNames(String... columns) {
        return new CsvDataFormat.Builder().header(String.join(",", columns)).recordSeparator("\n").end();
    }
}
