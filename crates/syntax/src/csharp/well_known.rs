//! The namespaces of common .NET types, so that an unrelated import does not change the meaning of a declaration: `List` is
//! `System.Collections.Generic.List` in every file that imports that namespace.
//!
//! Does not know libraries beyond the base class library; other names stay as written.

/// Namespaces with the types that occur most often in signatures, separated by spaces.
const NAMESPACES: &[(&str, &str)] = &[
    (
        "System",
        "Action Activator AggregateException AppDomain ArgumentException ArgumentNullException \
         ArgumentOutOfRangeException Array ArraySegment AsyncCallback Attribute AttributeTargets \
         AttributeUsage BitConverter Buffer Console ConsoleColor Convert DBNull DateOnly DateTime \
         DateTimeKind DateTimeOffset DayOfWeek Decimal Delegate Enum Environment EventArgs EventHandler \
         Exception Flags FlagsAttribute FormatException Func GC Guid IAsyncDisposable IAsyncResult \
         ICloneable IComparable IConvertible IDisposable IEquatable IFormatProvider IFormattable \
         IProgress IServiceProvider Int16 Int32 Int64 IntPtr InvalidCastException \
         InvalidOperationException Lazy Math Memory NotImplementedException NotSupportedException \
         Nullable Object ObjectDisposedException Obsolete ObsoleteAttribute OperationCanceledException \
         Predicate Progress Random Range ReadOnlyMemory ReadOnlySpan Serializable Span String \
         StringComparer StringComparison TimeOnly TimeSpan TimeZoneInfo Tuple Type TypeCode UInt32 UInt64 \
         UIntPtr Uri UriKind ValueTuple Version WeakReference",
    ),
    (
        "System.Collections",
        "ArrayList Hashtable ICollection IComparer IDictionary IEnumerable IEnumerator IList",
    ),
    (
        "System.Collections.Concurrent",
        "BlockingCollection ConcurrentBag ConcurrentDictionary ConcurrentQueue ConcurrentStack",
    ),
    (
        "System.Collections.Generic",
        "Comparer Dictionary EqualityComparer HashSet IAsyncEnumerable IAsyncEnumerator ICollection \
         IComparer IDictionary IEnumerable IEnumerator IEqualityComparer IList IReadOnlyCollection \
         IReadOnlyDictionary IReadOnlyList IReadOnlySet ISet KeyNotFoundException KeyValuePair LinkedList \
         List PriorityQueue Queue SortedDictionary SortedList SortedSet Stack",
    ),
    ("System.Collections.Immutable", "ImmutableArray ImmutableDictionary ImmutableHashSet ImmutableList"),
    ("System.Collections.ObjectModel", "Collection ObservableCollection ReadOnlyCollection"),
    (
        "System.ComponentModel",
        "Browsable Category Component Container DefaultValue Description EditorBrowsable IContainer \
         INotifyPropertyChanged PropertyChangedEventArgs PropertyChangedEventHandler TypeConverter",
    ),
    ("System.ComponentModel.DataAnnotations", "Key MaxLength Range Required StringLength"),
    ("System.Diagnostics", "Conditional Debug DebuggerDisplay DebuggerStepThrough Process Stopwatch"),
    ("System.Diagnostics.CodeAnalysis", "ExcludeFromCodeCoverage MaybeNullWhen NotNullWhen SuppressMessage"),
    ("System.Globalization", "CultureInfo DateTimeStyles NumberStyles"),
    (
        "System.IO",
        "BinaryReader BinaryWriter Directory DirectoryInfo File FileAccess FileInfo FileMode \
         FileNotFoundException FileShare FileStream FileSystemInfo IOException MemoryStream Path \
         SearchOption SeekOrigin Stream StreamReader StreamWriter StringReader StringWriter TextReader \
         TextWriter",
    ),
    ("System.Linq", "Enumerable IGrouping ILookup IOrderedEnumerable IOrderedQueryable IQueryable Lookup"),
    ("System.Linq.Expressions", "Expression ExpressionVisitor LambdaExpression MethodCallExpression"),
    ("System.Net", "HttpStatusCode IPAddress IPEndPoint WebException"),
    ("System.Net.Http", "HttpClient HttpContent HttpMethod HttpRequestMessage HttpResponseMessage"),
    (
        "System.Reflection",
        "Assembly BindingFlags ConstructorInfo FieldInfo MemberInfo MethodInfo ParameterInfo PropertyInfo",
    ),
    (
        "System.Runtime.CompilerServices",
        "CallerMemberName ConfiguredTaskAwaitable InternalsVisibleTo MethodImpl",
    ),
    ("System.Runtime.InteropServices", "ComVisible DllImport Marshal SafeHandle StructLayout"),
    (
        "System.Runtime.Serialization",
        "DataContract DataMember ISerializable SerializationInfo StreamingContext",
    ),
    ("System.Text", "Encoder Encoding Rune StringBuilder"),
    ("System.Text.Json", "JsonElement JsonException JsonSerializer JsonSerializerOptions"),
    ("System.Text.Json.Serialization", "JsonConverter JsonIgnore JsonPropertyName"),
    ("System.Text.RegularExpressions", "Group Match MatchCollection Regex RegexOptions"),
    (
        "System.Threading",
        "CancellationToken CancellationTokenSource Interlocked ManualResetEvent Monitor Mutex \
         ReaderWriterLockSlim SemaphoreSlim SynchronizationContext Thread Timer",
    ),
    ("System.Threading.Tasks", "Task TaskCompletionSource TaskScheduler ValueTask"),
    ("System.Timers", "ElapsedEventArgs Timer"),
    ("System.Windows.Forms", "Button Control Form Keys ListView MessageBox Panel Timer UserControl"),
    ("System.Xml", "XmlDocument XmlElement XmlNode XmlReader XmlWriter"),
    ("System.Xml.Linq", "XDocument XElement XName"),
    ("System.Xml.Serialization", "XmlElement XmlIgnore XmlSerializer"),
];

/// Whether the table contains a namespace.
pub fn is_known_namespace(namespace: &str) -> bool {
    NAMESPACES.iter().any(|(known, _)| *known == namespace)
}

/// The imported namespace that contains a name; `None` if none or several of the known ones do.
pub fn namespace_of<'a>(name: &str, imported: &[&'a str]) -> Option<&'a str> {
    let has = |namespace: &&&str| {
        NAMESPACES.iter().any(|(known, names)| known == *namespace && names.split(' ').any(|it| it == name))
    };
    let mut namespaces = imported.iter().filter(has);
    match (namespaces.next(), namespaces.next()) {
        // a generic and a non-generic collection with the same name: with both imported, type arguments select the generic one,
        // and the shape contains those
        (Some(one), Some(other)) if other.starts_with("System.Collections") => Some(one.max(other)),
        (Some(one), None) => Some(one),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_resolves_to_one_of_the_imported_namespaces() {
        assert_eq!(
            namespace_of("List", &["System", "System.Collections.Generic"]),
            Some("System.Collections.Generic")
        );
        assert_eq!(namespace_of("List", &["System"]), None);
        assert_eq!(namespace_of("Timer", &["System.Threading", "System.Timers"]), None);
        assert_eq!(
            namespace_of("IList", &["System.Collections", "System.Collections.Generic"]),
            Some("System.Collections.Generic")
        );
    }

    #[test]
    fn the_table_is_sorted() {
        assert!(NAMESPACES.is_sorted_by_key(|(namespace, _)| *namespace));
        for (namespace, names) in NAMESPACES {
            assert!(names.split(' ').is_sorted(), "{namespace}");
        }
    }
}
